SELECT
  v.`id`,
  v.`Email`,
  v.`born`,
  IF(v.`address` IS NULL, NULL, STRUCT(v.`address`.`zip` AS `zip`, IF(v.`address`.`order` IS NULL, NULL, STRUCT(v.`address`.`order`.`street` AS `street`, v.`address`.`order`.`since` AS `since`)) AS `order`, v.`address`.`extra` AS `extra`)) AS `address`,
  v.`tags`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(e1.`price` AS `price`, e1.`k` AS `k`, e1.`mails` AS `mails`)) FROM UNNEST(v.`items`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `items`,
  v.`notes`,
  v.`card`
FROM `p.shop.customer_current` AS v
