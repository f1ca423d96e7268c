DELETE FROM `my-project.shop.customer_base` AS b
WHERE b._deleted AND REGEXP_EXTRACT(b._position, r'^[^ ]* ([01][0-9]{19}) ') < '10000001714566600000'
AND b._position <= (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00'))
AND IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as IN ('rebuilding', 'rebuild')) < TIMESTAMP '2024-05-01 12:30:00.000000+00', TRUE)
