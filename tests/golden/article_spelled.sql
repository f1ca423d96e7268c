CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {}
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  v.`first_name`,
  v.`last_name`,
  v.`full_name`,
  CAST(NULL AS STRING) AS `email`
FROM `my-project.shop.customer_v_abc` AS v
UNION ALL
SELECT
  v.`id`,
  v.`first_name`,
  v.`last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  v.`email`
FROM `my-project.shop.customer_v_def` AS v;
