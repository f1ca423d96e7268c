SELECT CURRENT_TIMESTAMP() AS now, (SELECT MAX(m.floor) FROM `my-project.shop.customer_merges` AS m WHERE m.started_at > IFNULL((SELECT MAX(r.started_at) FROM `my-project.shop.customer_merges` AS r WHERE r.finished_as = 'create'), TIMESTAMP '0001-01-01 00:00:00+00')) AS floor, CAST(NULL AS STRING) AS finished_as, CAST(NULL AS STRING) AS keys, CAST(NULL AS STRING) AS versions, CAST(NULL AS TIMESTAMP) AS base_created, CAST(NULL AS TIMESTAMP) AS started_at, CAST(NULL AS BOOL) AS comparable, CAST(NULL AS STRING) AS zones, CAST(NULL AS STRING) AS landed
UNION ALL
SELECT NULL, NULL, m.finished_as, m.keys, m.versions, m.base_created, MAX(m.started_at), LOGICAL_OR(m.ordered_by_text IS NOT NULL), m.time_zones, ARRAY_AGG(m.landed ORDER BY m.started_at DESC LIMIT 1)[OFFSET(0)]
FROM `my-project.shop.customer_merges` AS m
GROUP BY m.finished_as, m.keys, m.versions, m.base_created, m.time_zones
