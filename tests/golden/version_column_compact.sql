CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
SELECT
  `_version`,
  `id`,
  `first_name`,
  `last_name`,
  `full_name`,
  `email`
FROM (
  SELECT 'abc' AS `_version`, * REPLACE (CAST(v.`id` AS STRING) AS `id`) FROM `my-project.shop.customer_v_abc` AS v
  FULL OUTER UNION ALL BY NAME
  SELECT 'def' AS `_version`, * FROM `my-project.shop.customer_v_def`
);
