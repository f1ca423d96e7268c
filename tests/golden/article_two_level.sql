CREATE OR REPLACE VIEW `my-project.shop.onefold_leaf_a4fc91b1078b_customer_unified` AS
SELECT
  `id`,
  `first_name`,
  `last_name`,
  `full_name`,
  `email`,
  CAST(NULL AS STRING) AS `phone`
FROM (
  SELECT CAST(v.`id` AS STRING) AS `id`, v.`first_name`, v.`last_name`, v.`full_name` FROM `my-project.shop.customer_v_abc` AS v
  FULL OUTER UNION ALL BY NAME
  SELECT v.`id`, v.`first_name`, v.`last_name`, v.`email` FROM `my-project.shop.customer_v_def` AS v
);

CREATE OR REPLACE VIEW `my-project.shop.onefold_leaf_331ab66792d2_customer_unified` AS
SELECT
  `id`,
  CAST(NULL AS STRING) AS `first_name`,
  CAST(NULL AS STRING) AS `last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  CAST(NULL AS STRING) AS `email`,
  `phone`
FROM (
  SELECT CAST(v.`id` AS STRING) AS `id`, v.`phone` FROM `my-project.shop.customer_v_fed` AS v
);

CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {}
-- versions: abc def fed
SELECT * FROM `my-project.shop.onefold_leaf_a4fc91b1078b_customer_unified`
UNION ALL
SELECT * FROM `my-project.shop.onefold_leaf_331ab66792d2_customer_unified`;
