-- settings: {
--   "mode": "full"
-- }
WITH loaded AS (
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  v.`name`,
  CAST(NULL AS STRING) AS `note`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`)) AS `datastream_metadata`,
  v.`_landed_at`,
  v.`_day`
FROM `my-project.fraud_models.score_v_abc` AS v
UNION ALL
SELECT
  v.`id`,
  CAST(NULL AS STRING) AS `name`,
  v.`note`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`)) AS `datastream_metadata`,
  v.`_landed_at`,
  v.`_day`
FROM `my-project.fraud_models.score_v_def` AS v
)
SELECT n.* EXCEPT (`datastream_metadata`, `_landed_at`, `_day`)
FROM loaded AS n
WHERE CONCAT(LPAD(CAST(IFNULL(n.`datastream_metadata`.source_timestamp, 0) AS STRING), 20, '0'), ' ', IFNULL(n.`datastream_metadata`.uuid, '')) = (SELECT MAX(CONCAT(LPAD(CAST(IFNULL(m.`datastream_metadata`.source_timestamp, 0) AS STRING), 20, '0'), ' ', IFNULL(m.`datastream_metadata`.uuid, ''))) FROM loaded AS m)
