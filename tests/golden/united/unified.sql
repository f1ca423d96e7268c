-- settings: {
--   "version_column": "dataset",
--   "version_pattern": "united"
-- }
-- versions: tenant_a tenant_b tenant_c
SELECT
  'tenant_a' AS `dataset`,
  CAST(v.`id` AS STRING) AS `id`,
  CAST(v.`total` AS NUMERIC) AS `total`,
  IF(v.`address` IS NULL, NULL, STRUCT(CAST(v.`address`.`zip` AS STRING) AS `zip`, CAST(NULL AS STRING) AS `city`)) AS `address`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  CAST(NULL AS STRING) AS `mail`
FROM `my-project.tenant_a.orders` AS v
UNION ALL
SELECT
  'tenant_b' AS `dataset`,
  CAST(v.`id` AS STRING) AS `id`,
  CAST(NULL AS NUMERIC) AS `total`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`zip` AS `zip`, v.`address`.`city` AS `city`)) AS `address`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  v.`mail`
FROM `my-project.tenant_b.orders` AS v
UNION ALL
SELECT
  'tenant_c' AS `dataset`,
  v.`id`,
  v.`total`,
  CAST(NULL AS STRUCT<`zip` STRING, `city` STRING>) AS `address`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  CAST(NULL AS STRING) AS `mail`
FROM `my-project.tenant_c.orders` AS v
