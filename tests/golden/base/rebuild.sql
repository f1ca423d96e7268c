CREATE OR REPLACE TABLE `my-project.shop.customer_base`
CLUSTER BY `id`
AS
SELECT
  IF(w._deleted, NULL, w.`_version`) AS `_version`,
  w.`id`,
  IF(w._deleted, NULL, w.`Name`) AS `Name`,
  IF(w._deleted, NULL, w.`born`) AS `born`,
  IF(w._deleted, NULL, w.`tags`) AS `tags`,
  IF(w._lost, ERROR('a row of the base is not in its history'), w.`_position`) AS `_position`,
  w.`_deleted`
FROM (
  SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC, r._lost) AS _rank, LOGICAL_OR(r._lost) OVER (PARTITION BY r.`id`) AS _known
  FROM (
    SELECT h.`_version`, h.`id`, h.`Name`, h.`born`, h.`tags`, h.`_position`, h.`_deleted`, FALSE AS _lost
    FROM (
      SELECT
        'abc' AS `_version`,
        CAST(v.`id` AS NUMERIC) AS `id`,
        v.`Name` AS `Name`,
        v.`born` AS `born`,
        CAST(NULL AS ARRAY<STRING>) AS `tags`,
        CONCAT(CASE WHEN v.`datastream_metadata`.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(v.`datastream_metadata`.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(v.`datastream_metadata`.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(piece) >= 40, piece, LPAD(piece, 40, '0')), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(v.`datastream_metadata`.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ', CASE WHEN v.`datastream_metadata`.source_timestamp IS NULL THEN '' WHEN v.`datastream_metadata`.source_timestamp < 0 THEN CONCAT('0', LPAD(CAST(9223372036854775807 - ~v.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) ELSE CONCAT('1', LPAD(CAST(v.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) END, ' ', ARRAY_TO_STRING(ARRAY(SELECT CONCAT(CASE WHEN sort_key IS NULL THEN '0' WHEN NOT REGEXP_CONTAINS(sort_key, r'^-?[0-9]+(\.[0-9]+)?$') THEN CONCAT('3', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(piece) >= 40, piece, LPAD(piece, 40, '0')), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(sort_key, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) WHEN STARTS_WITH(sort_key, '-') THEN CONCAT('1', TRANSLATE(CONCAT(IF(LENGTH(REGEXP_EXTRACT(sort_key, r'[0-9]+')) >= 40, REGEXP_EXTRACT(sort_key, r'[0-9]+'), LPAD(REGEXP_EXTRACT(sort_key, r'[0-9]+'), 40, '0')), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')), '0123456789', '9876543210'), '~') ELSE CONCAT('2', CONCAT(IF(LENGTH(REGEXP_EXTRACT(sort_key, r'[0-9]+')) >= 40, REGEXP_EXTRACT(sort_key, r'[0-9]+'), LPAD(REGEXP_EXTRACT(sort_key, r'[0-9]+'), 40, '0')), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0'))) END, ' ') FROM UNNEST(v.`datastream_metadata`.sort_keys) AS sort_key WITH OFFSET AS place ORDER BY place), ''), ' ', IF(IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE), '0', '1'), ' ', CONCAT(IFNULL(v.`datastream_metadata`.uuid, ''), ' ', SUBSTR(TO_HEX(SHA256(CONCAT('', IFNULL(CONCAT('4:born=', CONCAT(CAST(LENGTH(CAST(v.`born` AS STRING)) AS STRING), ':', CAST(v.`born` AS STRING))), ''), IFNULL(CONCAT('2:id=', CONCAT(CAST(LENGTH(CAST(v.`id` AS STRING)) AS STRING), ':', CAST(v.`id` AS STRING))), ''), IFNULL(CONCAT('4:name=', CONCAT(CAST(LENGTH(v.`Name`) AS STRING), ':', v.`Name`)), '')))), 1, 32))) AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_abc` AS v
      WHERE v.`_landed_at` >= TIMESTAMP '2024-05-01 11:30:00.000000+00' OR v.`_landed_at` IS NULL
      UNION ALL
      SELECT
        'def' AS `_version`,
        v.`id` AS `id`,
        v.`name` AS `Name`,
        CAST(NULL AS DATE) AS `born`,
        v.`tags` AS `tags`,
        CONCAT(CASE WHEN v.`datastream_metadata`.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(v.`datastream_metadata`.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(v.`datastream_metadata`.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(piece) >= 40, piece, LPAD(piece, 40, '0')), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(v.`datastream_metadata`.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END, ' ', CASE WHEN v.`datastream_metadata`.source_timestamp IS NULL THEN '' WHEN v.`datastream_metadata`.source_timestamp < 0 THEN CONCAT('0', LPAD(CAST(9223372036854775807 - ~v.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) ELSE CONCAT('1', LPAD(CAST(v.`datastream_metadata`.source_timestamp AS STRING), 19, '0')) END, ' ', ARRAY_TO_STRING(ARRAY(SELECT CONCAT(CASE WHEN sort_key IS NULL THEN '0' WHEN NOT REGEXP_CONTAINS(sort_key, r'^-?[0-9]+(\.[0-9]+)?$') THEN CONCAT('3', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(piece) >= 40, piece, LPAD(piece, 40, '0')), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(sort_key, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) WHEN STARTS_WITH(sort_key, '-') THEN CONCAT('1', TRANSLATE(CONCAT(IF(LENGTH(REGEXP_EXTRACT(sort_key, r'[0-9]+')) >= 40, REGEXP_EXTRACT(sort_key, r'[0-9]+'), LPAD(REGEXP_EXTRACT(sort_key, r'[0-9]+'), 40, '0')), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0')), '0123456789', '9876543210'), '~') ELSE CONCAT('2', CONCAT(IF(LENGTH(REGEXP_EXTRACT(sort_key, r'[0-9]+')) >= 40, REGEXP_EXTRACT(sort_key, r'[0-9]+'), LPAD(REGEXP_EXTRACT(sort_key, r'[0-9]+'), 40, '0')), '.', RTRIM(IFNULL(REGEXP_EXTRACT(sort_key, r'\.([0-9]+)'), ''), '0'))) END, ' ') FROM UNNEST(v.`datastream_metadata`.sort_keys) AS sort_key WITH OFFSET AS place ORDER BY place), ''), ' ', IF(IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE), '0', '1'), ' ', CONCAT(IFNULL(v.`datastream_metadata`.uuid, ''), ' ', SUBSTR(TO_HEX(SHA256(CONCAT('', IFNULL(CONCAT('2:id=', CONCAT(CAST(LENGTH(CAST(v.`id` AS STRING)) AS STRING), ':', CAST(v.`id` AS STRING))), ''), IFNULL(CONCAT('4:name=', CONCAT(CAST(LENGTH(v.`name`) AS STRING), ':', v.`name`)), ''), IFNULL(CONCAT('4:tags=', CONCAT(CAST(LENGTH(NULLIF(ARRAY_TO_STRING(ARRAY(SELECT IF(element IS NULL, '-', CONCAT(CAST(LENGTH(element) AS STRING), ':', element)) FROM UNNEST(v.`tags`) AS element WITH OFFSET AS place ORDER BY place), ''), '')) AS STRING), ':', NULLIF(ARRAY_TO_STRING(ARRAY(SELECT IF(element IS NULL, '-', CONCAT(CAST(LENGTH(element) AS STRING), ':', element)) FROM UNNEST(v.`tags`) AS element WITH OFFSET AS place ORDER BY place), ''), ''))), '')))), 1, 32))) AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_def` AS v
    ) AS h
    UNION ALL
    SELECT CAST(NULL AS STRING) AS `_version`, CAST(b.`id` AS NUMERIC) AS `id`, CAST(NULL AS STRING) AS `Name`, CAST(NULL AS DATE) AS `born`, CAST(NULL AS ARRAY<STRING>) AS `tags`, b.`_position`, b.`_deleted`, TRUE AS _lost
    FROM `my-project.shop.customer_base` AS b
  ) AS r
) AS w
WHERE w._rank = 1 AND (w._known OR w._deleted OR w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), ''))
