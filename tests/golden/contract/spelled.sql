CREATE OR REPLACE VIEW `my-project.shop.customer_unified`
OPTIONS (description = '[onefold: conversions that can lose values\n- n: STRING to INT64: a value that does not fit becomes NULL or is rounded\n- day: TIMESTAMP to DATE: a value that does not fit becomes NULL or is rounded\n- raw: STRING to BYTES: a value that does not fit becomes NULL or is rounded\n- address: field street is left out\n- address: STRING to INT64: a value that does not fit becomes NULL or is rounded\n- note: STRING to STRUCT<a INT64>: a value that does not fit becomes NULL or is rounded\nonefold]') AS
-- settings: {
--   "contract.new_columns": "hide",
--   "contract.types": "keep"
-- }
-- held by the contract: {"hidden": ["email"], "types": {"n": "STRING", "day": "TIMESTAMP", "raw": "STRING", "address": "STRUCT<zip STRING, city STRING, street STRING>", "note": "STRING"}}
SELECT o.* EXCEPT (`email`) REPLACE (
  SAFE_CAST(o.`n` AS INT64) AS `n`,
  IF(TIMESTAMP(SAFE.DATE(o.`day`, 'UTC'), 'UTC') = o.`day`, SAFE.DATE(o.`day`, 'UTC'), NULL) AS `day`,
  IF(o.`address` IS NULL, NULL, STRUCT(SAFE_CAST(o.`address`.`zip` AS INT64) AS `zip`, o.`address`.`city` AS `city`)) AS `address`
)
FROM (
SELECT
  CAST(v.`id` AS STRING) AS `id`,
  CAST(v.`n` AS STRING) AS `n`,
  TIMESTAMP(v.`day`, 'UTC') AS `day`,
  v.`raw`,
  IF(v.`address` IS NULL, NULL, STRUCT(CAST(v.`address`.`zip` AS STRING) AS `zip`, v.`address`.`city` AS `city`, CAST(NULL AS STRING) AS `street`)) AS `address`,
  IF(v.`note` IS NULL, NULL, STRUCT(v.`note`.`a` AS `a`)) AS `note`,
  CAST(NULL AS STRING) AS `email`
FROM `my-project.shop.customer_v_a1` AS v
UNION ALL
SELECT
  v.`id`,
  v.`n`,
  v.`day`,
  SAFE_CAST(v.`raw` AS BYTES) AS `raw`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`zip` AS `zip`, v.`address`.`city` AS `city`, v.`address`.`street` AS `street`)) AS `address`,
  CAST(NULL AS STRUCT<`a` INT64>) AS `note`,
  v.`email`
FROM `my-project.shop.customer_v_b2` AS v
) AS o;
