-- waiting for a decision: ["born", "address.extra", "notes"]
SELECT
  v.`id`,
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(v.`Email` AS BYTES)))))))))) AS `Email`,
  CAST(NULL AS DATE) AS `born`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`zip` AS `zip`, IF(v.`address`.`order` IS NULL, NULL, STRUCT(TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(v.`address`.`order`.`street`))))))))) AS `street`)) AS `order`, CAST(NULL AS INT64) AS `extra`)) AS `address`,
  ARRAY(SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(e1 AS BYTES)))))))))) FROM UNNEST(v.`tags`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `tags`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(e1.`price` AS `price`, ARRAY(SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(e2 AS BYTES)))))))))) FROM UNNEST(e1.`mails`) AS e2 WITH OFFSET AS o2 ORDER BY o2) AS `mails`)) FROM UNNEST(v.`items`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `items`,
  CAST(NULL AS JSON) AS `notes`
FROM `p.shop.customer_current` AS v
CROSS JOIN (
  SELECT
    IF(COUNT(*) = 1 AND MIN(LENGTH(ipad)) = 128 AND MIN(LENGTH(opad)) = 128, MIN(ipad), ERROR('p.shop__keys.hash_key: expected one row with a key: run `onefold policies key`')) AS ipad,
    IF(COUNT(*) = 1 AND MIN(LENGTH(ipad)) = 128 AND MIN(LENGTH(opad)) = 128, MIN(opad), ERROR('p.shop__keys.hash_key: expected one row with a key: run `onefold policies key`')) AS opad
  FROM `p.shop__keys.hash_key`
) AS k_
