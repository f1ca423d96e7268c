-- settings: {
--   "tool": "Snowplow",
--   "rows": "current"
-- }
-- keys: ["event_id"]
SELECT
  r.`app_id`,
  r.`collector_tstamp`,
  r.`event_id`,
  r.`v_collector`,
  r.`event_vendor`,
  r.`event_name`,
  r.`event_format`,
  r.`event_version`,
  r.`load_tstamp`
FROM `my-project.atomic.events` AS r
