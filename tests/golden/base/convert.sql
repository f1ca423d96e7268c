CREATE OR REPLACE TABLE `my-project.shop.customer_base`
CLUSTER BY `id`
AS
SELECT
  CAST(NULL AS STRING) AS `_version`,
  CAST(b.`id` AS NUMERIC) AS `id`,
  b.`Name`,
  b.`born`,
  b.`tags`,
  b.`_position`,
  b.`_deleted`,
  b.`gone`
FROM `my-project.shop.customer_base` AS b
