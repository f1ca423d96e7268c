CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
SELECT
  v.`id`,
  v.`first_name`,
  v.`last_name`,
  v.`full_name`,
  CAST(NULL AS JSON) AS `email`
FROM `my-project.shop.customer_v_abc` AS v
UNION ALL
SELECT
  SAFE_CAST(v.`id` AS INT64) AS `id`,
  v.`first_name`,
  v.`last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  SAFE.PARSE_JSON(v.`email`, wide_number_mode => 'round') AS `email`
FROM `my-project.shop.customer_v_def` AS v;
