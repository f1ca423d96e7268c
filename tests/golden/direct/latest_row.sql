SELECT w.* EXCEPT (`_landed_at`, `_onefold_version`, `_rank`)
FROM (
  SELECT c.*, ROW_NUMBER() OVER (
    PARTITION BY c.`id`
    ORDER BY
      c.`at` DESC,
      LENGTH(c.`_onefold_version`) DESC,
      c.`_onefold_version` DESC,
      SUBSTR(TO_HEX(SHA256(CONCAT('', IFNULL(CONCAT('2:at=', CONCAT(CAST(LENGTH(STRING(c.`at`, 'UTC')) AS STRING), ':', STRING(c.`at`, 'UTC'))), ''), IFNULL(CONCAT('2:id=', CONCAT(CAST(LENGTH(c.`id`) AS STRING), ':', c.`id`)), ''), IFNULL(CONCAT('4:page=', CONCAT(CAST(LENGTH(c.`Page`) AS STRING), ':', c.`Page`)), '')))), 1, 32) DESC
  ) AS `_rank`
  FROM `p.events.clicks` AS c
) AS w
WHERE w.`_rank` = 1
