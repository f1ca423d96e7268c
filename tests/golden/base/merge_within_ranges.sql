MERGE INTO `my-project.shop.customer_base` AS b
USING (
  SELECT
    IF(w._deleted, NULL, w.`_version`) AS `_version`,
    w.`id`,
    IF(w._deleted, NULL, w.`Name`) AS `Name`,
    IF(w._deleted, NULL, w.`born`) AS `born`,
    IF(w._deleted, NULL, w.`tags`) AS `tags`,
    w._position,
    w._deleted,
    w._position > IFNULL((SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')), '') AS `_above_floor`
  FROM (
    SELECT r.*, ROW_NUMBER() OVER (PARTITION BY r.`id` ORDER BY r._position DESC) AS _rank
    FROM (
      SELECT * FROM `my-project.shop.customer_base`
    ) AS r
  ) AS w
  WHERE w._rank = 1
  AND w.`id` BETWEEN NUMERIC '0' AND NUMERIC '1024'
) AS c
ON b.`id` = c.`id` AND b.`id` BETWEEN NUMERIC '0' AND NUMERIC '1024'
WHEN MATCHED AND (b._position IS NULL OR c._position > b._position) THEN UPDATE SET
  `_version` = c.`_version`,
  `Name` = c.`Name`,
  `born` = c.`born`,
  `tags` = c.`tags`,
  `_position` = c.`_position`,
  `_deleted` = c.`_deleted`
WHEN NOT MATCHED BY TARGET AND c.`_above_floor` THEN INSERT (`_version`, `id`, `Name`, `born`, `tags`, `_position`, `_deleted`)
VALUES (c.`_version`, c.`id`, c.`Name`, c.`born`, c.`tags`, c.`_position`, c.`_deleted`)
