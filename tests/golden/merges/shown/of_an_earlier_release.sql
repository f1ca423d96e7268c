ALTER TABLE `my-project.shop.customer_merges`
  ADD COLUMN IF NOT EXISTS `unknown_types` INT64,
  ADD COLUMN IF NOT EXISTS `time_zones` STRING,
  ADD COLUMN IF NOT EXISTS `landed` STRING,
  ADD COLUMN IF NOT EXISTS `bytes` INT64;

MERGE INTO `my-project.shop.customer_base` AS b
USING (
  SELECT
    w.`id`,
    IF(w._deleted, NULL, w.`name`) AS `name`,
    IF(w._deleted, NULL, w.`seen`) AS `seen`,
    IF(w._deleted, NULL, w.`mail`) AS `mail`,
    w._position,
    w._deleted,
    w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), '') AS `_above_floor`
  FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC) AS _rank
    FROM (
      SELECT
        v.`id` AS `id`,
        v.`name` AS `name`,
        v.`seen` AS `seen`,
        CAST(NULL AS STRING) AS `mail`,
        POSITION OF a AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_a` AS v
      WHERE v.`_landed_at` >= TIMESTAMP '2026-11-25 22:30:00.000000+00' OR v.`_landed_at` IS NULL
      UNION ALL
      SELECT
        v.`id` AS `id`,
        v.`name` AS `name`,
        v.`seen` AS `seen`,
        v.`mail` AS `mail`,
        POSITION OF b AS _position,
        IFNULL(UPPER(v.`datastream_metadata`.change_type) IN ('DELETE', 'UPDATE-DELETE'), FALSE) AS _deleted
      FROM `my-project.shop.customer_v_b` AS v
      WHERE v.`_landed_at` >= TIMESTAMP '2026-11-25 22:30:00.000000+00' OR v.`_landed_at` IS NULL
    ) AS r
  ) AS w
  WHERE w._rank = 1
  AND w.`id` BETWEEN 0 AND 2048
) AS c
ON b.`id` = c.`id` AND b.`id` BETWEEN 0 AND 2048
WHEN MATCHED AND (b._position IS NULL OR c._position > b._position) THEN UPDATE SET
  `name` = c.`name`,
  `seen` = c.`seen`,
  `mail` = c.`mail`,
  `_position` = c.`_position`,
  `_deleted` = c.`_deleted`
WHEN NOT MATCHED BY TARGET AND c.`_above_floor` THEN INSERT (`id`, `name`, `seen`, `mail`, `_position`, `_deleted`)
VALUES (c.`id`, c.`name`, c.`seen`, c.`mail`, c.`_position`, c.`_deleted`);
