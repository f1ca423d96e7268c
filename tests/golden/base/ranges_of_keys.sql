SELECT COUNTIF(r.`id` IS NULL) AS nulls_0, MIN(r.`id`) AS least_0, MAX(r.`id`) AS greatest_0
FROM (
SELECT * FROM `my-project.shop.customer_base`
) AS r
