INSERT INTO `my-project.shop.customer_merges` (finished_as, started_at, `base_created`, `keys`, `versions`, floor)
SELECT 'purge', TIMESTAMP '2024-05-01 12:30:00.000000+00', TIMESTAMP '2024-05-01 12:30:00.000000+00', '["id"]', '[]', MAX(b._position)
FROM `my-project.shop.customer_base` AS b
WHERE b._deleted AND REGEXP_EXTRACT(b._position, r'^[^ ]* ([01][0-9]{19}) ') < '10000001714566600000'
HAVING MAX(b._position) IS NOT NULL
