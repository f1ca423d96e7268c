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
  CAST(v.`id` AS STRING) AS `id`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(e1.`sku` AS `sku`, CAST(NULL AS NUMERIC) AS `price`)) FROM UNNEST(v.`lines`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `lines`,
  CAST(NULL AS STRING) AS `note`,
  CAST(NULL AS STRING) AS `root_id_df12fdb4`
FROM (
  SELECT
    CAST(NULL AS STRING) AS `schema_vendor`,
    CAST(NULL AS STRING) AS `schema_name`,
    'jsonschema' AS `schema_format`,
    '1-0-0' AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CAST(NULL AS STRING) AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    i.`id` AS `id`,
    i.`lines` AS `lines`
  FROM `my-project.atomic.events` AS r, UNNEST(r.`contexts_com_acme_cart_1_0_0`) AS i
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
  CAST(v.`id` AS STRING) AS `id`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(e1.`sku` AS `sku`, CAST(e1.`price` AS NUMERIC) AS `price`)) FROM UNNEST(v.`lines`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `lines`,
  v.`note`,
  CAST(NULL AS STRING) AS `root_id_df12fdb4`
FROM (
  SELECT
    CAST(NULL AS STRING) AS `schema_vendor`,
    CAST(NULL AS STRING) AS `schema_name`,
    'jsonschema' AS `schema_format`,
    '1-0-1' AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CAST(NULL AS STRING) AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    i.`id` AS `id`,
    i.`lines` AS `lines`,
    i.`note` AS `note`
  FROM `my-project.atomic.events` AS r, UNNEST(r.`contexts_com_acme_cart_1_0_1`) AS i
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
  CAST(v.`id` AS STRING) AS `id`,
  ARRAY(SELECT IF(e1 IS NULL, NULL, STRUCT(e1.`sku` AS `sku`, e1.`price` AS `price`)) FROM UNNEST(v.`lines`) AS e1 WITH OFFSET AS o1 ORDER BY o1) AS `lines`,
  CAST(NULL AS STRING) AS `note`,
  v.`root_id_df12fdb4`
FROM (
  SELECT
    CAST(NULL AS STRING) AS `schema_vendor`,
    CAST(NULL AS STRING) AS `schema_name`,
    'jsonschema' AS `schema_format`,
    i.`_schema_version` AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CAST(NULL AS STRING) AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    i.`id` AS `id`,
    i.`lines` AS `lines`,
    i.`root_id` AS `root_id_df12fdb4`
  FROM `my-project.atomic.events` AS r, UNNEST(r.`contexts_com_acme_cart_1`) AS i
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
  v.`id`,
  CAST(NULL AS ARRAY<STRUCT<`sku` STRING, `price` NUMERIC>>) AS `lines`,
  CAST(NULL AS STRING) AS `note`,
  CAST(NULL AS STRING) AS `root_id_df12fdb4`
FROM (
  SELECT
    CAST(NULL AS STRING) AS `schema_vendor`,
    CAST(NULL AS STRING) AS `schema_name`,
    'jsonschema' AS `schema_format`,
    '1-1-0' AS `schema_version`,
    r.`event_id` AS `root_id`,
    r.`collector_tstamp` AS `root_tstamp`,
    'events' AS `ref_root`,
    CAST(NULL AS STRING) AS `ref_tree`,
    'events' AS `ref_parent`,
    r.`load_tstamp` AS `load_tstamp`,
    i.`id` AS `id`
  FROM `my-project.atomic.events` AS r, UNNEST(r.`contexts_com_acme_cart_1_recovered_1_1_0_37fd804e`) AS i
) AS v
