-- settings: {}
SELECT
  v.`schema_vendor`,
  v.`schema_name`,
  v.`schema_format`,
  v.`schema_version`,
  v.`root_id`,
  v.`root_tstamp`,
  v.`ref_root`,
  v.`ref_tree`,
  v.`ref_parent`,
  v.`load_tstamp`,
  CAST(v.`clicks` AS STRING) AS `clicks`,
  CAST(NULL AS STRUCT<`x` INT64>) AS `place`
FROM (
  SELECT
    r.`event_vendor` AS `schema_vendor`,
    r.`event_name` AS `schema_name`,
    r.`event_format` AS `schema_format`,
    r.`event_version` AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CONCAT('["events","', r.`event_name`, '"]') AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    r.`unstruct_event_com_acme_ad_click_1_0_0`.`clicks` AS `clicks`
  FROM `my-project.atomic.events` AS r
  WHERE r.`unstruct_event_com_acme_ad_click_1_0_0` IS NOT NULL
) AS v
UNION ALL
SELECT
  v.`schema_vendor`,
  v.`schema_name`,
  v.`schema_format`,
  v.`schema_version`,
  v.`root_id`,
  v.`root_tstamp`,
  v.`ref_root`,
  v.`ref_tree`,
  v.`ref_parent`,
  v.`load_tstamp`,
  v.`clicks`,
  IF(v.`place` IS NULL, NULL, STRUCT(v.`place`.`x` AS `x`)) AS `place`
FROM (
  SELECT
    r.`event_vendor` AS `schema_vendor`,
    r.`event_name` AS `schema_name`,
    r.`event_format` AS `schema_format`,
    r.`event_version` AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CONCAT('["events","', r.`event_name`, '"]') AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    r.`unstruct_event_com_acme_ad_click_2`.`clicks` AS `clicks`,
    r.`unstruct_event_com_acme_ad_click_2`.`place` AS `place`
  FROM `my-project.atomic.events` AS r
  WHERE r.`unstruct_event_com_acme_ad_click_2` IS NOT NULL
) AS v
