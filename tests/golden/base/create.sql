CREATE TABLE IF NOT EXISTS `my-project.shop.customer_base` (
  `_version` STRING,
  `id` NUMERIC,
  `Name` STRING,
  `born` DATE,
  `tags` ARRAY<STRING>,
  `_position` STRING,
  `_deleted` BOOL
)
CLUSTER BY `id`
