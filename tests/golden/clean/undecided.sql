-- waiting for a decision: ["id", "Email", "born", "address.zip", "address.order.street", "address.order.since", "address.extra", "tags", "items.price", "items.k", "items.mails", "notes", "card"]
SELECT
  CAST(NULL AS INT64) AS `id`,
  CAST(NULL AS STRING) AS `Email`,
  CAST(NULL AS DATE) AS `born`,
  CAST(NULL AS STRUCT<`zip` STRING, `order` STRUCT<`street` BYTES, `since` TIMESTAMP>, `extra` INT64>) AS `address`,
  CAST(NULL AS ARRAY<STRING>) AS `tags`,
  CAST(NULL AS ARRAY<STRUCT<`price` NUMERIC, `k` STRING, `mails` ARRAY<STRING>>>) AS `items`,
  CAST(NULL AS JSON) AS `notes`,
  CAST(NULL AS STRING) AS `card`
FROM `p.shop.customer_current` AS v
