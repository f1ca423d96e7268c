SELECT
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(CAST(v.`id` AS STRING) AS BYTES)))))))))) AS `id`,
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(v.`Email` AS BYTES)))))))))) AS `Email`,
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(CAST(v.`born` AS STRING) AS BYTES)))))))))) AS `born`,
  IF(v.`address` IS NULL, NULL, STRUCT(TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(v.`address`.`zip` AS BYTES)))))))))) AS `zip`, IF(v.`address`.`order` IS NULL, NULL, STRUCT(TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(v.`address`.`order`.`street`))))))))) AS `street`, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(STRING(v.`address`.`order`.`since`, 'UTC') AS BYTES)))))))))) AS `since`)) AS `order`, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(CAST(v.`address`.`extra` AS STRING) AS BYTES)))))))))) AS `extra`)) AS `address`,
  ARRAY(SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(e1 AS BYTES)))))))))) FROM UNNEST(v.`tags`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `tags`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(CAST(e1.`price` AS STRING) AS BYTES)))))))))) AS `price`, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(e1.`k` AS BYTES)))))))))) AS `k`, ARRAY(SELECT TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(e2 AS BYTES)))))))))) FROM UNNEST(e1.`mails`) AS e2 WITH OFFSET AS o2 ORDER BY o2) AS `mails`)) FROM UNNEST(v.`items`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `items`,
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(IF(v.`notes` IS NULL, NULL, TO_JSON_STRING(v.`notes`)) AS BYTES)))))))))) AS `notes`,
  TO_HEX(SHA256(FROM_HEX(CONCAT(k_.opad, TO_HEX(SHA256(FROM_HEX(CONCAT(k_.ipad, TO_HEX(CAST(v.`card` AS BYTES)))))))))) AS `card`
FROM `p.shop.customer_current` AS v
CROSS JOIN (
  SELECT
    IF(COUNT(*) = 1 AND MIN(LENGTH(ipad)) = 128 AND MIN(LENGTH(opad)) = 128, MIN(ipad), ERROR('p.shop__keys.hash_key: expected one row with a key: run `onefold policies key`')) AS ipad,
    IF(COUNT(*) = 1 AND MIN(LENGTH(ipad)) = 128 AND MIN(LENGTH(opad)) = 128, MIN(opad), ERROR('p.shop__keys.hash_key: expected one row with a key: run `onefold policies key`')) AS opad
  FROM `p.shop__keys.hash_key`
) AS k_
