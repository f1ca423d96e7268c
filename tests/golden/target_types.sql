CREATE OR REPLACE VIEW `my-project.shop.customer_unified`
OPTIONS (description = '[onefold: conversions that can lose values\n- id: STRING to INT64: a value that does not fit becomes NULL or is rounded\n- email: STRING to JSON: a value that does not fit becomes NULL or is rounded\nonefold]') AS
-- settings: {
--   "types.email": "JSON",
--   "types.id": "INT64"
-- }
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
