-- settings: {
--   "version_column": "dataset",
--   "version_pattern": "united",
--   "keys": [
--     "dataset",
--     "id"
--   ]
-- }
-- keys: ["dataset", "id"]
SELECT w.* EXCEPT (`datastream_metadata`, `_rank`)
FROM (
  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY c.`dataset`, c.`id` ORDER BY CONCAT(CASE WHEN c.`datastream_metadata`.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(c.`datastream_metadata`.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(c.`datastream_metadata`.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) WHEN REGEXP_CONTAINS(c.`datastream_metadata`.change_sequence_number, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)*|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(c.`datastream_metadata`.change_sequence_number, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(c.`datastream_metadata`.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ', CASE WHEN c.`datastream_metadata`.source_timestamp IS NULL THEN '' WHEN c.`datastream_metadata`.source_timestamp < 0 THEN CONCAT('0', LPAD(CAST(9223372036854775807 - ~c.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) ELSE CONCAT('1', LPAD(CAST(c.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) END, ' ', ARRAY_TO_STRING(ARRAY(SELECT CONCAT(CASE WHEN sort_key IS NULL THEN '0' WHEN REGEXP_CONTAINS(sort_key, r'^-?[0-9]+(\.[0-9]+)?$') THEN IF(STARTS_WITH(sort_key, '-'), CONCAT('1', TRANSLATE(CONCAT(IF(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) <= 40, LPAD(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) AS STRING), 10, '0'), LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'))), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')), '0123456789;', '9876543210/'), '~'), CONCAT('2', CONCAT(IF(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) <= 40, LPAD(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) AS STRING), 10, '0'), LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'))), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')))) WHEN REGEXP_CONTAINS(sort_key, r'^[0-9A-Fa-f]{20}$') THEN CONCAT('2', LPAD(UPPER(sort_key), 40, '0'), '.') WHEN REGEXP_CONTAINS(sort_key, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)+|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('4', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(sort_key, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('3', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(sort_key, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ') FROM UNNEST(c.`datastream_metadata`.sort_keys) AS sort_key WITH OFFSET AS place ORDER BY place), ''), ' ', IF(IFNULL(UPPER(c.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE), '0', '1'), ' ', CONCAT(IFNULL(REGEXP_REPLACE(c.`datastream_metadata`.uuid, r'[\x00-\x20]', '!'), ''), ' !')) DESC) AS `_rank`
  FROM (
-- versions: tenant_a tenant_b tenant_c
SELECT
  'tenant_a' AS `dataset`,
  CAST(v.`id` AS STRING) AS `id`,
  CAST(v.`total` AS NUMERIC) AS `total`,
  IF(v.`address` IS NULL, NULL, STRUCT(CAST(v.`address`.`zip` AS STRING) AS `zip`, CAST(NULL AS STRING) AS `city`)) AS `address`,
  CAST(NULL AS STRING) AS `mail`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`
FROM `my-project.tenant_a.orders` AS v
UNION ALL
SELECT
  'tenant_b' AS `dataset`,
  CAST(v.`id` AS STRING) AS `id`,
  CAST(NULL AS NUMERIC) AS `total`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`zip` AS `zip`, v.`address`.`city` AS `city`)) AS `address`,
  v.`mail`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`
FROM `my-project.tenant_b.orders` AS v
UNION ALL
SELECT
  'tenant_c' AS `dataset`,
  v.`id`,
  v.`total`,
  CAST(NULL AS STRUCT<`zip` STRING, `city` STRING>) AS `address`,
  CAST(NULL AS STRING) AS `mail`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`
FROM `my-project.tenant_c.orders` AS v
) AS c
) AS w
WHERE w.`_rank` = 1 AND NOT IFNULL(UPPER(w.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE)
