SELECT *
FROM `TABLE`
WHERE TRUE
QUALIFY ROW_NUMBER() OVER (
  PARTITION BY id ORDER BY statement = '', origin = 'discovered', recorded_at
) = 1
AND (change = '' OR tenant <> '' OR MAX(tenant) OVER (PARTITION BY change) = '')