-- settings: {
--   "version_column": "dataset",
--   "version_pattern": "united",
--   "keys": [
--     "dataset",
--     "id"
--   ]
-- }
-- keys: ["dataset", "id"]
-- base: 7291fa968f33
SELECT
  b.`dataset`,
  b.`id`,
  b.`total`
FROM `my-project.united.orders_base` AS b
WHERE NOT b.`_deleted`
