CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {
--   "version_column": "_version"
-- }
SELECT
  'abc' AS `_version`,
  CAST(v.`id` AS STRING) AS `id`,
  v.`first_name`,
  v.`last_name`,
  v.`full_name`,
  CAST(NULL AS STRING) AS `email`
FROM `my-project.shop.customer_v_abc` AS v
UNION ALL
SELECT
  'def' AS `_version`,
  v.`id`,
  v.`first_name`,
  v.`last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  v.`email`
FROM `my-project.shop.customer_v_def` AS v;
