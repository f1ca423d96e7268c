-- ask
SELECT CURRENT_TIMESTAMP() AS now;

-- ask
SELECT '00ac60fa0' AS version, (SELECT COUNT(*) FROM `my-project.shop.customer_v_00ac60fa0` AS v) - (SELECT COUNT(*) FROM `my-project.shop.customer_v_00ac60fa0` AS v WHERE v.`_landed_at` >= TIMESTAMP '2026-11-26 03:30:00.000000+00' OR v.`_landed_at` IS NULL) AS now, NULL AS `then`
UNION ALL
SELECT '405ed6762' AS version, (SELECT COUNT(*) FROM `my-project.shop.customer_v_405ed6762` AS v) - (SELECT COUNT(*) FROM `my-project.shop.customer_v_405ed6762` AS v WHERE v.`_landed_at` >= TIMESTAMP '2026-11-26 03:30:00.000000+00' OR v.`_landed_at` IS NULL) AS now, NULL AS `then`;

-- ask
SELECT p.source_name, p.database_name, p.primary_key, MAX(p._position) AS _position
FROM (
  SELECT r.source_name, r.database_name, r.primary_key, CASE WHEN r.change_sequence_number IS NULL THEN '0' WHEN REGEXP_CONTAINS(r.change_sequence_number, r'^[0-9A-Fa-f]{1,16}(/[0-9A-Fa-f]{1,16}){0,3}$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT LPAD(UPPER(section), 16, '0') FROM UNNEST(SPLIT(r.change_sequence_number, '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) WHEN REGEXP_CONTAINS(r.change_sequence_number, r'^(?:[0-9A-Fa-f]+(?:/[0-9A-Fa-f]+)*|[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+| *0[xX][0-9A-Fa-f]+(?:\.[0-9A-Fa-f]+\.[0-9A-Fa-f]+)? *)$') THEN CONCAT('2', ARRAY_TO_STRING(ARRAY(SELECT IF(LENGTH(section) <= 16, LPAD(section, 16, '0'), CONCAT('X', LPAD(CAST(LENGTH(section) AS STRING), 10, '0'), section)) FROM UNNEST(SPLIT(REGEXP_REPLACE(REGEXP_REPLACE(UPPER(TRIM(r.change_sequence_number, ' ')), r'^(?:0X)?0*', ''), r'[/:.]0*', '/'), '/')) AS section WITH OFFSET AS place ORDER BY place), '/')) ELSE CONCAT('1', ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(r.change_sequence_number, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '')) END AS _position
  FROM (
    SELECT v.source_name, v.database_name, TO_JSON_STRING(v.`datastream_metadata`.primary_key) AS primary_key, v.`datastream_metadata`.change_sequence_number
    FROM `my-project.shop.customer_v_00ac60fa0` AS v
    UNION ALL
    SELECT v.source_name, v.database_name, TO_JSON_STRING(v.`datastream_metadata`.primary_key) AS primary_key, v.`datastream_metadata`.change_sequence_number
    FROM `my-project.shop.customer_v_405ed6762` AS v
  ) AS r
) AS p
GROUP BY p.source_name, p.database_name, p.primary_key;

-- check
SELECT
  v.`id` AS `id`,
  v.`code` AS `code`,
  v.`name` AS `name`,
  v.`source_name` AS `source_name`,
  v.`database_name` AS `database_name`,
  CAST(NULL AS STRING) AS `mail`,
  POSITION OF one AS _position,
  IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
FROM `my-project.shop.customer_v_00ac60fa0` AS v
UNION ALL
SELECT
  v.`id` AS `id`,
  v.`code` AS `code`,
  v.`name` AS `name`,
  v.`source_name` AS `source_name`,
  v.`database_name` AS `database_name`,
  v.`mail` AS `mail`,
  POSITION OF two AS _position,
  IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
FROM `my-project.shop.customer_v_405ed6762` AS v;

-- run
CREATE TABLE IF NOT EXISTS `my-project.shop.customer_merges` (
  `finished_as` STRING,
  `started_at` TIMESTAMP,
  `base_created` TIMESTAMP,
  `keys` STRING,
  `versions` STRING,
  `floor` STRING,
  `changes` INT64,
  `inserted` INT64,
  `updated` INT64,
  `below_floor` INT64,
  `disputed` INT64,
  `ordered_by_text` INT64,
  `unknown_types` INT64,
  `time_zones` STRING,
  `landed` STRING,
  `bytes` INT64
);

-- ask
SELECT CURRENT_TIMESTAMP() AS now, (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')) AS floor, CAST(NULL AS STRING) AS finished_as, CAST(NULL AS STRING) AS keys, CAST(NULL AS STRING) AS versions, CAST(NULL AS TIMESTAMP) AS base_created, CAST(NULL AS TIMESTAMP) AS started_at, CAST(NULL AS BOOL) AS comparable, CAST(NULL AS STRING) AS zones, CAST(NULL AS STRING) AS landed
UNION ALL
SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), LOGICAL_OR(m.ordered_by_text IS NOT NULL), m.time_zones, ARRAY_AGG(m.landed ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]
FROM `my-project.shop.customer_merges` AS m
GROUP BY m.finished_as, m.keys, m.versions, m.base_created, m.time_zones;

-- the view may leave the base for none;

-- run
CREATE TABLE IF NOT EXISTS `my-project.shop.customer_base` (
  `id` INT64,
  `code` INT64,
  `name` STRING,
  `source_name` STRING,
  `database_name` STRING,
  `mail` STRING,
  `_packed_position` BYTES,
  `_deleted` BOOL
)
CLUSTER BY `database_name`, `id`;

-- run
INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones)
VALUES ('create', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-26 03:32:00.000000+00', '["source_name", "database_name", "id"]', '[]', '{}', '[]');

-- ask
SELECT CURRENT_TIMESTAMP() AS now, (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')) AS floor, CAST(NULL AS STRING) AS finished_as, CAST(NULL AS STRING) AS keys, CAST(NULL AS STRING) AS versions, CAST(NULL AS TIMESTAMP) AS base_created, CAST(NULL AS TIMESTAMP) AS started_at, CAST(NULL AS BOOL) AS comparable, CAST(NULL AS STRING) AS zones, CAST(NULL AS STRING) AS landed
UNION ALL
SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), LOGICAL_OR(m.ordered_by_text IS NOT NULL), m.time_zones, ARRAY_AGG(m.landed ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]
FROM `my-project.shop.customer_merges` AS m
GROUP BY m.finished_as, m.keys, m.versions, m.base_created, m.time_zones;

-- the view reads the base (created);

-- run
MERGE INTO `my-project.shop.customer_base` AS b
USING (
  SELECT
    w.`id`,
    IF(w._deleted, NULL, w.`code`) AS `code`,
    IF(w._deleted, NULL, w.`name`) AS `name`,
    w.`source_name`,
    w.`database_name`,
    IF(w._deleted, NULL, w.`mail`) AS `mail`,
    PACKED AS _packed_position,
    w._deleted,
    w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), '') AS `_above_floor`
  FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`source_name`, r.`database_name`, r.`id` ORDER BY r._position DESC) AS _rank
    FROM (
      SELECT
        v.`id` AS `id`,
        v.`code` AS `code`,
        v.`name` AS `name`,
        v.`source_name` AS `source_name`,
        v.`database_name` AS `database_name`,
        CAST(NULL AS STRING) AS `mail`,
        POSITION OF one AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_00ac60fa0` AS v
      UNION ALL
      SELECT
        v.`id` AS `id`,
        v.`code` AS `code`,
        v.`name` AS `name`,
        v.`source_name` AS `source_name`,
        v.`database_name` AS `database_name`,
        v.`mail` AS `mail`,
        POSITION OF two AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_405ed6762` AS v
    ) AS r
  ) AS w
  WHERE w._rank = 1
) AS c
ON (b.`source_name` IS NULL) = (c.`source_name` IS NULL) AND IFNULL(b.`source_name`, '') = IFNULL(c.`source_name`, '') AND (b.`database_name` IS NULL) = (c.`database_name` IS NULL) AND IFNULL(b.`database_name`, '') = IFNULL(c.`database_name`, '') AND (b.`id` IS NULL) = (c.`id` IS NULL) AND IFNULL(b.`id`, 0) = IFNULL(c.`id`, 0)
WHEN MATCHED AND (b._packed_position IS NULL OR c._packed_position > b._packed_position) THEN UPDATE SET
  `code` = c.`code`,
  `name` = c.`name`,
  `mail` = c.`mail`,
  `_packed_position` = c.`_packed_position`,
  `_deleted` = c.`_deleted`
WHEN NOT MATCHED BY TARGET AND c.`_above_floor` THEN INSERT (`id`, `code`, `name`, `source_name`, `database_name`, `mail`, `_packed_position`, `_deleted`)
VALUES (c.`id`, c.`code`, c.`name`, c.`source_name`, c.`database_name`, c.`mail`, c.`_packed_position`, c.`_deleted`);

-- ask
SELECT IFNULL(SUM(c._onefold_changes), 0) AS changes, COUNT(c._onefold_changes) AS `keys`, IFNULL(SUM(c._onefold_disputed), 0) AS disputed, 0 AS below_floor, IFNULL(SUM(c._onefold_text), 0) AS ordered_by_text, IFNULL(SUM(c._onefold_unknown_type), 0) AS unknown_types, REGEXP_EXTRACT(MIN(c._onefold_example), r'^.([^ ]*)') AS text_example
FROM (
  SELECT `source_name`, `database_name`, `id`, SUM(_onefold_changes) AS _onefold_changes, SUM(_onefold_disputed) AS _onefold_disputed, MAX(_position) AS _position, SUM(_onefold_unknown_type) AS _onefold_unknown_type, SUM(IF((STARTS_WITH(_position, '1') AND NOT REGEXP_CONTAINS(_position, r'^1[^ /:]*[A-Za-z][^ /:]*\.[0-9]{40}([/:][0-9]{40})* ')), _onefold_changes, 0)) AS _onefold_text, MIN(IF((STARTS_WITH(_position, '1') AND NOT REGEXP_CONTAINS(_position, r'^1[^ /:]*[A-Za-z][^ /:]*\.[0-9]{40}([/:][0-9]{40})* ')), _position, NULL)) AS _onefold_example
  FROM (
    SELECT r.`source_name`, r.`database_name`, r.`id`, COUNT(*) AS _onefold_changes, COUNT(DISTINCT r._position) - 1 AS _onefold_disputed, COUNTIF(r._onefold_unknown_type) AS _onefold_unknown_type, MAX(r._position) AS _position
    FROM (
      SELECT
        v.`source_name` AS `source_name`,
        v.`database_name` AS `database_name`,
        v.`id` AS `id`,
        POSITION OF one AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) NOT IN ('INSERT', 'UPDATE-INSERT', 'DELETE', 'UPDATE-DELETE'), TRUE) AS _onefold_unknown_type
      FROM `my-project.shop.customer_v_00ac60fa0` AS v
      UNION ALL
      SELECT
        v.`source_name` AS `source_name`,
        v.`database_name` AS `database_name`,
        v.`id` AS `id`,
        POSITION OF two AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) NOT IN ('INSERT', 'UPDATE-INSERT', 'DELETE', 'UPDATE-DELETE'), TRUE) AS _onefold_unknown_type
      FROM `my-project.shop.customer_v_405ed6762` AS v
    ) AS r
    GROUP BY r.`source_name`, r.`database_name`, r.`id`, REGEXP_REPLACE(r._position, r' [0-9a-f]{32}$', '')
  )
  GROUP BY `source_name`, `database_name`, `id`
) AS c;

-- run
INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones, changes, inserted, updated, below_floor, disputed, ordered_by_text, unknown_types, bytes)
VALUES ('merge', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-26 03:32:00.000000+00', '["source_name", "database_name", "id"]', '["00ac60fa0", "405ed6762"]', '{"00ac60fa0": ["2026-11-26T03:30:00+00:00", 40], "405ed6762": ["2026-11-26T03:30:00+00:00", 40]}', '[]', 9, 3, 2, 1, 2, 3, 4, 1000);
