CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {}
SELECT
  `id`,
  `first_name`,
  `last_name`,
  `full_name`,
  `email`
FROM (
  SELECT CAST(v.`id` AS STRING) AS `id`, v.`first_name`, v.`last_name`, v.`full_name` FROM `my-project.shop.customer_v_abc` AS v
  FULL OUTER UNION ALL BY NAME
  SELECT v.`id`, v.`first_name`, v.`last_name`, v.`email` FROM `my-project.shop.customer_v_def` AS v
);
