-- ask
SELECT CURRENT_TIMESTAMP() AS now, (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')) AS floor, CAST(NULL AS STRING) AS finished_as, CAST(NULL AS STRING) AS keys, CAST(NULL AS STRING) AS versions, CAST(NULL AS TIMESTAMP) AS base_created, CAST(NULL AS TIMESTAMP) AS started_at, CAST(NULL AS BOOL) AS comparable, CAST(NULL AS STRING) AS zones, CAST(NULL AS STRING) AS landed
UNION ALL
SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), LOGICAL_OR(m.ordered_by_text IS NOT NULL), m.time_zones, ARRAY_AGG(m.landed ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]
FROM `my-project.shop.customer_merges` AS m
GROUP BY m.finished_as, m.keys, m.versions, m.base_created, m.time_zones;

-- ask
SELECT 'a' AS version, (SELECT COUNT(*) FROM `my-project.shop.customer_v_a` AS v) - (SELECT COUNT(*) FROM `my-project.shop.customer_v_a` AS v WHERE v.`_landed_at` >= TIMESTAMP '2026-11-26 03:30:00.000000+00' OR v.`_landed_at` IS NULL) AS now, (SELECT COUNT(*) FROM `my-project.shop.customer_v_a` AS v) - (SELECT COUNT(*) FROM `my-project.shop.customer_v_a` AS v WHERE v.`_landed_at` >= TIMESTAMP '2026-11-25 22:30:00.000000+00' OR v.`_landed_at` IS NULL) AS `then`
UNION ALL
SELECT 'b' AS version, (SELECT COUNT(*) FROM `my-project.shop.customer_v_b` AS v) - (SELECT COUNT(*) FROM `my-project.shop.customer_v_b` AS v WHERE v.`_landed_at` >= TIMESTAMP '2026-11-26 03:30:00.000000+00' OR v.`_landed_at` IS NULL) AS now, NULL AS `then`;

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

-- the view may leave the base for none;

-- the view reads the base (None);

-- ask
SELECT COUNT(*) AS found
FROM (
  SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC, r._lost) AS _rank
  FROM (
    SELECT h.`id`, h.`_position`, h.`_deleted`, FALSE AS _lost
    FROM (
      SELECT * FROM `my-project.shop.staged`
    ) AS h
    UNION ALL
    SELECT b.`id`, UNPACKED AS _position, b.`_deleted`, TRUE AS _lost
    FROM `my-project.shop.customer_base` AS b
  ) AS r
) AS w
WHERE w._rank = 1 AND w._lost;

-- run
INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones)
VALUES ('rebuilding', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-20 00:00:00.000000+00', '["id"]', '[]', '{}', '[]');

-- run
CREATE OR REPLACE TABLE `my-project.shop.customer_base`
CLUSTER BY `id`
AS
SELECT
  w.`id`,
  IF(w._deleted, NULL, w.`name`) AS `name`,
  IF(w._deleted, NULL, w.`seen`) AS `seen`,
  IF(w._deleted, NULL, w.`mail`) AS `mail`,
  IF(w._lost, ERROR('a row of the base is not in its history'), PACKED) AS `_packed_position`,
  w.`_deleted`
FROM (
  SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC, r._lost) AS _rank, LOGICAL_OR(r._lost) OVER (PARTITION BY r.`id`) AS _known
  FROM (
    SELECT h.`id`, h.`name`, h.`seen`, h.`mail`, h.`_position`, h.`_deleted`, FALSE AS _lost
    FROM (
      SELECT * FROM `my-project.shop.staged`
    ) AS h
    UNION ALL
    SELECT b.`id`, CAST(NULL AS STRING) AS `name`, CAST(NULL AS DATE) AS `seen`, CAST(NULL AS STRING) AS `mail`, UNPACKED AS _position, b.`_deleted`, TRUE AS _lost
    FROM `my-project.shop.customer_base` AS b
  ) AS r
) AS w
WHERE w._rank = 1 AND (w._known OR w._deleted OR w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), ''));

-- run
INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, landed, time_zones)
VALUES ('rebuild', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-26 03:31:00.000000+00', '["id"]', '["a", "b"]', '{"a": ["2026-11-26T03:30:00+00:00", 40], "b": ["2026-11-26T03:30:00+00:00", 40]}', '[]');

-- ask
SELECT COUNT(*) AS found FROM `my-project.shop.customer_base`;
