-- settings: {
--   "keys": [
--     "id"
--   ]
-- }
-- keys: ["id"]
-- base left out: flag INT64 -> STRING
-- base: copy
SELECT
  c.`id`,
  c.`flag`
FROM (
  SELECT w.* EXCEPT (_rank)
  FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC) AS _rank
    FROM (
      SELECT r.`id`, r.`flag`, CONCAT(CASE WHEN r.`datastream_metadata`.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(r.`datastream_metadata`.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(r.`datastream_metadata`.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) WHEN REGEXP_CONTAINS(r.`datastream_metadata`.change_sequence_number, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)*|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(r.`datastream_metadata`.change_sequence_number, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(r.`datastream_metadata`.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ', CASE WHEN r.`datastream_metadata`.source_timestamp IS NULL THEN '' WHEN r.`datastream_metadata`.source_timestamp < 0 THEN CONCAT('0', LPAD(CAST(9223372036854775807 - ~r.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) ELSE CONCAT('1', LPAD(CAST(r.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) END, ' ', ARRAY_TO_STRING(ARRAY(SELECT CONCAT(CASE WHEN sort_key IS NULL THEN '0' WHEN REGEXP_CONTAINS(sort_key, r'^-?[0-9]+(\.[0-9]+)?$') THEN IF(STARTS_WITH(sort_key, '-'), CONCAT('1', TRANSLATE(CONCAT(IF(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) <= 40, LPAD(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) AS STRING), 10, '0'), LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'))), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')), '0123456789;', '9876543210/'), '~'), CONCAT('2', CONCAT(IF(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) <= 40, LPAD(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0')) AS STRING), 10, '0'), LTRIM(REGEXP_EXTRACT(sort_key, r'[0-9]+'), '0'))), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')))) WHEN REGEXP_CONTAINS(sort_key, r'^[0-9A-Fa-f]{20}$') THEN CONCAT('2', LPAD(UPPER(sort_key), 40, '0'), '.') WHEN REGEXP_CONTAINS(sort_key, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)+|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('4', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(sort_key, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('3', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(sort_key, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ') FROM UNNEST(r.`datastream_metadata`.sort_keys) AS sort_key WITH OFFSET AS place ORDER BY place), ''), ' ', IF(IFNULL(UPPER(r.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE), '0', '1'), ' ', CONCAT(IFNULL(REGEXP_REPLACE(r.`datastream_metadata`.uuid, r'[\x00-\x20]', '!'), ''), ' !')) AS _position, IFNULL(UPPER(r.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM (
SELECT
  v.`id`,
  CAST(v.`flag` AS STRING) AS `flag`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  v.`_landed_at`
FROM `my-project.shop.customer_v_abc` AS v
UNION ALL
SELECT
  v.`id`,
  CAST(v.`flag` AS STRING) AS `flag`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  v.`_landed_at`
FROM `my-project.shop.customer_v_def` AS v
UNION ALL
SELECT
  v.`id`,
  v.`flag`,
  IF(v.`datastream_metadata` IS NULL, NULL, STRUCT(v.`datastream_metadata`.`uuid` AS `uuid`, v.`datastream_metadata`.`source_timestamp` AS `source_timestamp`, v.`datastream_metadata`.`change_sequence_number` AS `change_sequence_number`, v.`datastream_metadata`.`change_type` AS `change_type`, v.`datastream_metadata`.`sort_keys` AS `sort_keys`)) AS `datastream_metadata`,
  v.`_landed_at`
FROM `my-project.shop.customer_v_fed` AS v
) AS r
    ) AS r
  ) AS w
  WHERE w._rank = 1
) AS c
LEFT JOIN (SELECT DISTINCT b.`id`, TRUE AS _known FROM `my-project.shop.onefold_tmp_copy_customer_base` AS b) AS b ON (b.`id` IS NULL) = (c.`id` IS NULL) AND IFNULL(b.`id`, 0) = IFNULL(c.`id`, 0)
WHERE NOT c._deleted AND (b._known OR c._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), ''))
