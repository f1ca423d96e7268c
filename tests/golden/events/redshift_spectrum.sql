CREATE EXTERNAL SCHEMA IF NOT EXISTS "spectrum" FROM DATA CATALOG DATABASE 'acme' IAM_ROLE 'arn:aws:iam::123456789012:role/onefold-copy';

CREATE OR REPLACE VIEW "events"."com_acme_click_1" AS
SELECT "schema_vendor", "mine", "at", CAST(NULL AS DATE) AS "more"
FROM "atomic"."com_acme_click_1"
UNION ALL
SELECT "schema_vendor", CAST(NULL AS INT) AS "mine", "at" AT TIME ZONE 'UTC' AS "at", "more"
FROM "spectrum"."com_acme_click_1"
WHERE "onefold_run" NOT IN (SELECT "run" FROM "atomic"."onefold_manifest" WHERE "state" = 'loaded' AND "table_name" = 'com_acme_click_1')
WITH NO SCHEMA BINDING;

CREATE OR REPLACE VIEW "events"."com_acme_click_1" AS
SELECT "schema_vendor", "at", "more"
FROM "spectrum"."com_acme_click_1"
WHERE "onefold_run" NOT IN (SELECT "run" FROM "atomic"."onefold_manifest" WHERE "state" = 'loaded' AND "table_name" = 'com_acme_click_1')
WITH NO SCHEMA BINDING;
