CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {
--   "conversions": "classic"
-- }
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  IF(v.`address` IS NULL, NULL, TO_JSON_STRING(TO_JSON(IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`street` AS `street`, v.`address`.`zip` AS `zip`)), stringify_wide_numbers => TRUE))) AS `address`,
  IF(v.`tags` IS NULL, NULL, TO_JSON_STRING(TO_JSON(v.`tags`, stringify_wide_numbers => TRUE))) AS `tags`,
  CAST(v.`seen` AS STRING) AS `seen`,
  CAST(NULL AS JSON) AS `payload`
FROM `my-project.shop.customer_v_1a` AS v
UNION ALL
SELECT
  CAST(v.`ID` AS STRING) AS `id`,
  IF(v.`Address` IS NULL, NULL, TO_JSON_STRING(TO_JSON(IF(v.`Address` IS NULL, NULL, STRUCT(v.`Address`.`zip` AS `zip`, v.`Address`.`street` AS `street`, v.`Address`.`city` AS `city`)), stringify_wide_numbers => TRUE))) AS `address`,
  v.`tags`,
  STRING(v.`seen`, 'UTC') AS `seen`,
  CAST(NULL AS JSON) AS `payload`
FROM `my-project.shop.customer_v_2b` AS v
UNION ALL
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  CAST(NULL AS STRING) AS `address`,
  CAST(NULL AS STRING) AS `tags`,
  CAST(v.`seen` AS STRING) AS `seen`,
  v.`payload`
FROM `my-project.shop.customer_v_3c` AS v;
