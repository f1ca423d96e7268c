CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
SELECT
  `id`,
  `first_name`,
  `last_name`,
  `full_name`,
  `email`
FROM (
  SELECT * REPLACE (CAST(v.`id` AS STRING) AS `id`) FROM `my-project.shop.customer_v_abc` AS v
  FULL OUTER UNION ALL BY NAME
  SELECT * FROM `my-project.shop.customer_v_def`
);
