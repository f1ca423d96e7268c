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

-- run
INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, floor)
SELECT 'purge', TIMESTAMP '2026-11-26 04:30:00.000000+00', TIMESTAMP '2026-11-20 00:00:00.000000+00', '["id"]', '[]', MAX(UNPACKED)
FROM `my-project.shop.customer_base` AS b
WHERE b._deleted AND REGEXP_EXTRACT(UNPACKED, r'^[^ ]* ([01][0-9]{19}) ') < '10000001793075400000'
HAVING MAX(UNPACKED) IS NOT NULL;

-- run
DELETE FROM `my-project.shop.customer_base` AS b
WHERE b._deleted AND REGEXP_EXTRACT(UNPACKED, r'^[^ ]* ([01][0-9]{19}) ') < '10000001793075400000'
AND UNPACKED <= (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00'))
AND IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as IN ('rebuilding', 'rebuild')) < TIMESTAMP '2026-11-26 04:30:00.000000+00', TRUE);
