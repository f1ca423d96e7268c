SELECT w.* EXCEPT (`_landed_at`, `_onefold_version`, `_rank`)
FROM (
  SELECT c.*, ROW_NUMBER() OVER (
    PARTITION BY c.`id`
    ORDER BY
      c.`at` DESC,
      ARRAY_TO_STRING(ARRAY(SELECT IF(REGEXP_CONTAINS(piece, r'^[0-9]'), IF(LENGTH(LTRIM(piece, '0')) <= 40, LPAD(LTRIM(piece, '0'), 40, '0'), CONCAT(';', LPAD(CAST(LENGTH(LTRIM(piece, '0')) AS STRING), 10, '0'), LTRIM(piece, '0'))), piece) FROM UNNEST(REGEXP_EXTRACT_ALL(REGEXP_REPLACE(c.`_onefold_version`, r'[\x00-\x20]', '!'), r'[0-9]+|[^0-9]+')) AS piece WITH OFFSET AS place ORDER BY place), '') DESC,
      SUBSTR(TO_HEX(SHA256(CONCAT('', IFNULL(CONCAT('2:at=', CONCAT(CAST(LENGTH(STRING(c.`at`, 'UTC')) AS STRING), ':', STRING(c.`at`, 'UTC'))), ''), IFNULL(CONCAT('2:id=', CONCAT(CAST(LENGTH(c.`id`) AS STRING), ':', c.`id`)), ''), IFNULL(CONCAT('4:page=', CONCAT(CAST(LENGTH(c.`Page`) AS STRING), ':', c.`Page`)), '')))), 1, 32) DESC
  ) AS `_rank`
  FROM `p.events.clicks` AS c
) AS w
WHERE w.`_rank` = 1
