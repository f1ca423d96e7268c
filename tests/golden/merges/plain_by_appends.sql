-- ask
SELECT CURRENT_TIMESTAMP() AS now, (SELECT MAX(m.floor) FROM `my-project.shop__onefold.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop__onefold.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')) AS floor, CAST(NULL AS STRING) AS finished_as, CAST(NULL AS STRING) AS keys, CAST(NULL AS STRING) AS versions, CAST(NULL AS TIMESTAMP) AS base_created, CAST(NULL AS TIMESTAMP) AS started_at, CAST(NULL AS BOOL) AS comparable, CAST(NULL AS STRING) AS zones, CAST(NULL AS STRING) AS landed
UNION ALL
SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), LOGICAL_OR(m.ordered_by_text IS NOT NULL), m.time_zones, ARRAY_AGG(m.landed ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]
FROM `my-project.shop__onefold.customer_merges` AS m
GROUP BY m.finished_as, m.keys, m.versions, m.base_created, m.time_zones;

-- check
SELECT 1 AS found FROM APPENDS(TABLE `my-project.shop.customer`, TIMESTAMP '2026-11-26 03:30:00.000000+00', NULL) AS v;

-- run
CREATE TABLE IF NOT EXISTS `my-project.shop__onefold.customer_merges` (
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

-- the view may leave the base for none;

-- the view reads the base (None);

-- ask
SELECT COUNTIF(r.`id` IS NULL) AS nulls_0, MIN(r.`id`) AS least_0, MAX(r.`id`) AS greatest_0
FROM (
SELECT
  v.`id` AS `id`,
  POSITION OF a AS _position,
  IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted,
  IFNULL(UPPER(v.`datastream_metadata`.change_type) NOT IN ('INSERT', 'UPDATE-INSERT', 'DELETE', 'UPDATE-DELETE'), TRUE) AS _onefold_unknown_type
FROM APPENDS(TABLE `my-project.shop.customer`, TIMESTAMP '2026-11-24 21:30:00.000000+00', NULL) AS v
) AS r;

-- run
MERGE INTO `my-project.shop__onefold.customer_base` AS b
USING (
  SELECT
    w.`id`,
    IF(w._deleted, NULL, w.`name`) AS `name`,
    IF(w._deleted, NULL, w.`seen`) AS `seen`,
    PACKED AS _packed_position,
    w._deleted,
    w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop__onefold.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop__onefold.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), '') AS `_above_floor`
  FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC) AS _rank
    FROM (
      SELECT
        v.`id` AS `id`,
        v.`name` AS `name`,
        v.`seen` AS `seen`,
        POSITION OF a AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM APPENDS(TABLE `my-project.shop.customer`, TIMESTAMP '2026-11-24 21:30:00.000000+00', NULL) AS v
    ) AS r
  ) AS w
  WHERE w._rank = 1
  AND w.`id` BETWEEN 0 AND 2048
) AS c
ON b.`id` = c.`id` AND b.`id` BETWEEN 0 AND 2048
WHEN MATCHED AND (b._packed_position IS NULL OR c._packed_position > b._packed_position) THEN UPDATE SET
  `name` = c.`name`,
  `seen` = c.`seen`,
  `_packed_position` = c.`_packed_position`,
  `_deleted` = c.`_deleted`
WHEN NOT MATCHED BY TARGET AND c.`_above_floor` THEN INSERT (`id`, `name`, `seen`, `_packed_position`, `_deleted`)
VALUES (c.`id`, c.`name`, c.`seen`, c.`_packed_position`, c.`_deleted`);

-- ask
SELECT IFNULL(SUM(c._onefold_changes), 0) AS changes, COUNT(c._onefold_changes) AS `keys`, IFNULL(SUM(c._onefold_disputed), 0) AS disputed, 0 AS below_floor, IFNULL(SUM(c._onefold_text), 0) AS ordered_by_text, IFNULL(SUM(c._onefold_unknown_type), 0) AS unknown_types, REGEXP_EXTRACT(MIN(c._onefold_example), r'^.([^ ]*)') AS text_example
FROM (
  SELECT `id`, SUM(_onefold_changes) AS _onefold_changes, SUM(_onefold_disputed) AS _onefold_disputed, MAX(_position) AS _position, SUM(_onefold_unknown_type) AS _onefold_unknown_type, SUM(IF((STARTS_WITH(_position, '1') AND NOT REGEXP_CONTAINS(_position, r'^1[^ /:]*[A-Za-z][^ /:]*\.[0-9]{40}([/:][0-9]{40})* ')), _onefold_changes, 0)) AS _onefold_text, MIN(IF((STARTS_WITH(_position, '1') AND NOT REGEXP_CONTAINS(_position, r'^1[^ /:]*[A-Za-z][^ /:]*\.[0-9]{40}([/:][0-9]{40})* ')), _position, NULL)) AS _onefold_example
  FROM (
    SELECT r.`id`, COUNT(*) AS _onefold_changes, COUNT(DISTINCT r._position) - 1 AS _onefold_disputed, COUNTIF(r._onefold_unknown_type) AS _onefold_unknown_type, MAX(r._position) AS _position
    FROM (
      SELECT
        v.`id` AS `id`,
        POSITION OF a AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) NOT IN ('INSERT', 'UPDATE-INSERT', 'DELETE', 'UPDATE-DELETE'), TRUE) AS _onefold_unknown_type
      FROM APPENDS(TABLE `my-project.shop.customer`, TIMESTAMP '2026-11-24 21:30:00.000000+00', NULL) AS v
    ) AS r
    GROUP BY r.`id`, REGEXP_REPLACE(r._position, r' [0-9a-f]{32}$', '')
  )
  GROUP BY `id`
) AS c;

-- run
INSERT INTO `my-project.shop__onefold.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones, changes, inserted, updated, below_floor, disputed, ordered_by_text, unknown_types, bytes)
VALUES ('merge_appends', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-20 00:00:00.000000+00', '["id"]', '[""]', '{}', '[]', 9, 3, 2, 1, 2, 3, 4, 1000);
