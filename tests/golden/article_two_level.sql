CREATE OR REPLACE VIEW `my-project.shop.onefold_leaf_1410427b06af_customer_unified` AS
SELECT
  `id`,
  `first_name`,
  `last_name`,
  `full_name`,
  `email`,
  CAST(NULL AS STRING) AS `phone`
FROM (
  SELECT * REPLACE (CAST(v.`id` AS STRING) AS `id`) FROM `my-project.shop.customer_v_abc` AS v
  FULL OUTER UNION ALL BY NAME
  SELECT * FROM `my-project.shop.customer_v_def`
);

CREATE OR REPLACE VIEW `my-project.shop.onefold_leaf_f3f087f751cd_customer_unified` AS
SELECT
  `id`,
  CAST(NULL AS STRING) AS `first_name`,
  CAST(NULL AS STRING) AS `last_name`,
  CAST(NULL AS STRING) AS `full_name`,
  CAST(NULL AS STRING) AS `email`,
  `phone`
FROM (
  SELECT * REPLACE (CAST(v.`id` AS STRING) AS `id`) FROM `my-project.shop.customer_v_ghi` AS v
);

CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- versions: abc def ghi
SELECT * FROM `my-project.shop.onefold_leaf_1410427b06af_customer_unified`
UNION ALL
SELECT * FROM `my-project.shop.onefold_leaf_f3f087f751cd_customer_unified`;
