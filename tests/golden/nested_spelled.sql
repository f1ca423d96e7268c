CREATE OR REPLACE VIEW `my-project.shop.customer_unified` AS
-- settings: {}
SELECT
  CAST(v.`id` AS NUMERIC) AS `id`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`street` AS `street`, CAST(v.`address`.`zip` AS STRING) AS `zip`, CAST(NULL AS STRING) AS `city`)) AS `address`,
  ARRAY(SELECT CAST(e1 AS STRING) FROM UNNEST(v.`tags`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `tags`,
  TIMESTAMP(v.`seen`, 'UTC') AS `seen`,
  CAST(NULL AS JSON) AS `payload`
FROM `my-project.shop.customer_v_1a` AS v
UNION ALL
SELECT
  v.`ID` AS `id`,
  IF(v.`Address` IS NULL, NULL, STRUCT(v.`Address`.`street` AS `street`, v.`Address`.`zip` AS `zip`, v.`Address`.`city` AS `city`)) AS `address`,
  IF(v.`tags` IS NULL, CAST([] AS ARRAY<STRING>), [v.`tags`]) AS `tags`,
  v.`seen`,
  CAST(NULL AS JSON) AS `payload`
FROM `my-project.shop.customer_v_2b` AS v
UNION ALL
SELECT
  CAST(CAST(v.`id` AS INT64) AS NUMERIC) AS `id`,
  CAST(NULL AS STRUCT<`street` STRING, `zip` STRING, `city` STRING>) AS `address`,
  CAST(NULL AS ARRAY<STRING>) AS `tags`,
  TIMESTAMP(v.`seen`, 'UTC') AS `seen`,
  v.`payload`
FROM `my-project.shop.customer_v_3c` AS v;
