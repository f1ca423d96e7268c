# Pulled tables: for each entry of `pulls` an account that reads the secret of this source and no other, its files, its
# schedules and alerts, and for each of its datasets one of full views, which may read it on behalf of their readers.
locals {
  # If an entry is invalid, nothing is planned of pulls: the output `pulls` reports the problems of all entries.
  pull_entries = { for name, pull in module.typed.pulls : name => pull if length(local.pull_faults) == 0 }
  pulls        = { for name, pull in local.pull_entries : name => merge(pull, { account = google_service_account.pull[name].email }) }
  pulled = merge([
    for name, pull in local.pull_entries : {
      for database in pull.databases : "${name} ${database}" => {
        source   = name
        database = database
        dataset  = replace("${name}_${database}", "/[^A-Za-z0-9_]/", "_")
        views    = "${replace("${name}_${database}", "/[^A-Za-z0-9_]/", "_")}__views_full"
      }
    }
  ]...)
  has_pulls = length(local.pull_entries) > 0
  # The databases of each source of onefold.yaml: a batch refuses any other.
  source_databases = try({ for name, source in local.tables_settings.sources : name => source.databases }, {})
  checked          = var.check_schedule == null ? {} : local.pulled
  full_writers = {
    for pair in setproduct(keys(local.pulled), ["refresh_view", "batch"]) : "${pair[0]} ${pair[1]}" => { pulled = pair[0], purpose = pair[1] }
  }

  pull_environment = {
    ONEFOLD_PULLED_FILES          = local.reads_sources ? "gs://${module.buckets.names["pulled"]}" : ""
    ONEFOLD_TOPIC_TABLE_CREATED   = google_pubsub_topic.topic["table-created"].name
    ONEFOLD_BATCH_SOURCE_ACCOUNTS = join(",", [for name, one in merge(local.pulls, local.capture_checks) : "${name}=${one.account}"])
    ONEFOLD_BATCH_SOURCE_BUCKETS  = join(",", [for name, bucket in merge(module.pull_staging.names, module.check_staging.names) : "${name}=${bucket}"])
    ONEFOLD_BATCH_CHECKPOINTS = join(",", [
      for name, check in local.capture_checks : "${check.tenant}=gs://${module.buckets.names["capture"]}/${name}" if check.fix
    ])
  }

  # Files of pulled rows. BigQuery has their rows, so they are kept for some days only, for a load that is repeated. Schemas stay:
  # they say which structure a version has.
  pulled_bucket = {
    for key in local.reads_sources ? ["pulled"] : [] :
    key => { name = "${local.bucket_prefix}-pulled", delete_days = var.pulled_files_days, delete_prefix = "json/" }
  }

  # A bucket's name has 63 characters at most ("About Cloud Storage buckets", https://cloud.google.com/storage/docs/buckets, read
  # 2026), and that of a project up to 30.
  pull_staging_names = { for name in keys(local.pull_entries) : name => "${local.bucket_prefix}-pull-${name}" }
  pull_staging = {
    for name, full in local.pull_staging_names :
    name => length(full) <= 63 ? full : "${substr(full, 0, 54)}-${substr(sha256(full), 0, 8)}"
  }

  pull_windows = { "15m" = var.pull_schedule, day = var.daily_pull_schedule }
  # One batch pulls all tables of several databases: the message names no table. The order of the databases is kept, so that one
  # more at the end changes the last message only.
  pull_shards = merge([
    for name, pull in local.pull_entries : {
      for number, databases in chunklist(pull.databases, pull.databases_per_batch) : "${name} ${number + 1}" => {
        of = length(databases) == 1 ? "${name}/${databases[0]}" : "${length(databases)} databases of ${name}"
        arguments = merge(
          { source = name, databases = databases },
          pull.parallel == null ? {} : { parallel = pull.parallel },
        )
        files = merge(
          pull.gzip ? { compress = "gzip" } : {},
          pull.stream_below == 0 ? {} : { stream-below = pull.stream_below },
        )
      }
    }
  ]...)
  pull_schedules = merge([
    for key, shard in local.pull_shards : {
      for window, schedule in local.pull_windows : "${key} ${window}" => {
        name        = "${var.prefix}onefold-pull-${window}-${replace(key, " ", "-")}"
        description = "Pulls ${shard.of}: ${window}."
        schedule    = schedule
        message     = jsonencode({ job = "pull", arguments = merge(shard.arguments, shard.files, { window = window }) })
      }
    }
  ]...)
  # One batch checks all tables of the same databases: the numbers of rows, and the next chunk of each.
  check_schedules = {
    for key, shard in local.pull_shards : key => {
      name        = "${var.prefix}onefold-check-${replace(key, " ", "-")}"
      description = "Checks ${shard.of} against the source."
      schedule    = var.check_schedule
      message     = jsonencode({ job = "check", arguments = shard.arguments })
    } if var.check_schedule != null
  }
}

resource "google_service_account" "pull" {
  for_each = local.pull_entries

  account_id   = "${var.prefix}pull-${each.key}"
  display_name = "Onefold: pulls tables of ${each.key}"

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "pull" {
  for_each = local.pulls

  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = "serviceAccount:${each.value.account}"
}

# Dataproc requires this role for the account of a batch; as for the account of other batches, it is restricted to the
# staging bucket, of which each source has its own.
resource "google_project_iam_member" "pull_worker" {
  for_each = local.pulls

  project = var.project
  role    = "roles/dataproc.worker"
  member  = "serviceAccount:${each.value.account}"

  condition {
    title       = "staging bucket only"
    description = "Everything except Cloud Storage, and the staging bucket of this source."
    expression  = format(local.staging_only, module.pull_staging.names[each.key])
  }
}

resource "google_service_account_iam_member" "launch_pull" {
  for_each = local.pulls

  service_account_id = "projects/${var.project}/serviceAccounts/${each.value.account}"
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${local.accounts["launch_batch"]}"
}

# A person creates the secret and its versions, so that no password gets into Terraform and its state.
data "google_secret_manager_secret" "pull" {
  for_each = local.pull_entries

  project   = var.project
  secret_id = each.value.secret
}

resource "google_secret_manager_secret_iam_member" "pull" {
  for_each = local.pulls

  project   = var.project
  secret_id = data.google_secret_manager_secret.pull[each.key].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${each.value.account}"
}

# Temporary files of the batches of one source: the names of objects there are Dataproc's, so no condition could tell sources apart.
module "pull_staging" {
  source = "./modules/buckets"

  place   = local.bucket_place
  buckets = { for name, full in local.pull_staging : name => { name = full, delete_days = var.staging_days } }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Files are created and read, never replaced or deleted. A load job reads them by the account of the batch.
resource "google_project_iam_custom_role" "pull_objects" {
  count = local.reads_sources ? 1 : 0

  role_id     = "${local.role_prefix}_pull_objects"
  title       = "Onefold: writes files of pulled rows"
  permissions = ["storage.objects.create", "storage.objects.get"]
}

resource "google_storage_bucket_iam_member" "pull" {
  for_each = local.pulls

  bucket = module.buckets.names["pulled"]
  role   = google_project_iam_custom_role.pull_objects[0].name
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "files of ${each.key} only"
    description = "The rows and the schemas of this source only."
    expression = join(" || ", [
      for folder in ["json", "schemas"] :
      "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["pulled"]}/objects/${folder}/${each.key}/\")"
    ])
  }
}

# A load job needs to see the bucket ("Batch loading data", required permissions). And as for capture: without the right to list,
# Cloud Storage may answer 403 instead of 404 for a file that is not there.
resource "google_project_iam_custom_role" "pull_bucket" {
  count = local.reads_sources ? 1 : 0

  role_id     = "${local.role_prefix}_pull_bucket"
  title       = "Onefold: sees which files of pulled rows there are"
  permissions = ["storage.buckets.get", "storage.objects.list"]
}

resource "google_storage_bucket_iam_member" "pull_names" {
  for_each = local.pulls

  bucket = module.buckets.names["pulled"]
  role   = google_project_iam_custom_role.pull_bucket[0].name
  member = "serviceAccount:${each.value.account}"
}

resource "google_storage_bucket_iam_member" "pull_code" {
  for_each = local.pulls

  bucket = module.buckets.names["artifacts"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "code of batches only"
    description = "Objects except the code of the functions."
    expression  = google_storage_bucket_iam_member.batch_code.condition[0].expression
  }
}

resource "google_storage_bucket_iam_member" "pull_staging" {
  for_each = local.pulls

  bucket = module.pull_staging.names[each.key]
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${each.value.account}"
}

resource "google_pubsub_topic_iam_member" "pull" {
  for_each = local.pulls

  topic  = google_pubsub_topic.topic["table-created"].id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${each.value.account}"
}

# Load jobs make versioned tables and the log of loads, append, and replace days; keys are read to find deletions.
resource "google_bigquery_dataset_iam_member" "pull" {
  for_each = local.pulled

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.batch.name
  member     = "serviceAccount:${local.pulls[each.value.source].account}"
}

resource "google_bigquery_dataset_iam_member" "pull_staging" {
  for_each = local.pulled

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${local.pulls[each.value.source].account}"

  condition {
    title       = "temporary tables only"
    description = "Temporary tables of loads, onefold_tmp_…"
    expression  = "${local.is_table} && ${local.is_temporary[each.value.dataset]}"
  }
}

# The datasets of full views hold views only, so that nothing is lost with them.
resource "google_bigquery_dataset" "full" {
  #checkov:skip=CKV_GCP_81:it holds views only, and no rows that a key could encrypt
  for_each = local.pulled

  dataset_id                 = each.value.views
  location                   = local.location
  description                = "Onefold: the present rows of the tables that are pulled into ${each.value.dataset}."
  delete_contents_on_destroy = true
  labels                     = local.labels

  # As for clean views (clean_views.tf): else everybody who may view the project could read the full views.
  access {
    role          = "OWNER"
    special_group = "projectOwners"
  }

  lifecycle {
    ignore_changes = [access]
  }

  depends_on = [google_project_service.api]
}

resource "google_bigquery_dataset_iam_member" "full" {
  for_each = local.full_writers

  dataset_id = google_bigquery_dataset.full[each.value.pulled].dataset_id
  role       = google_project_iam_custom_role.views.name
  member     = "serviceAccount:${local.accounts[each.value.purpose]}"
}

resource "google_bigquery_dataset_iam_member" "full_leaves" {
  for_each = local.full_writers

  dataset_id = google_bigquery_dataset.full[each.value.pulled].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${local.accounts[each.value.purpose]}"

  condition {
    title       = "leaves only"
    description = "Leaf views, onefold_leaf_…"
    expression  = "${local.is_table} && resource.name.startsWith(\"projects/${var.project}/datasets/${local.pulled[each.value.pulled].views}/tables/onefold_leaf_\")"
  }
}

# A check compares the full views, as the account that may read the source.
resource "google_bigquery_dataset_iam_member" "full_check" {
  for_each = local.checked

  dataset_id = google_bigquery_dataset.full[each.key].dataset_id
  role       = "roles/bigquery.dataViewer"
  member     = "serviceAccount:${local.pulls[each.value.source].account}"
}

# Readers of full views need no right on the pulled tables. Adds one entry and keeps all others.
resource "google_bigquery_dataset_access" "full" {
  for_each = local.pulled

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id

  dataset {
    dataset {
      project_id = var.project
      dataset_id = google_bigquery_dataset.full[each.key].dataset_id
    }
    target_types = ["VIEWS"]
  }

  # These resources change the same list of the dataset, so they must not run at the same time.
  depends_on = [
    google_bigquery_dataset_access.views,
    google_bigquery_dataset_iam_member.pull,
    google_bigquery_dataset_iam_member.pull_staging,
  ]
}

# Output of a driver is logged as text by some versions of the runtime, and as fields by others.
locals {
  # Batches of the job's former name count for one release.
  pull_lines = "resource.type=\"cloud_dataproc_batch\" AND resource.labels.batch_id=~\"^onefold-(pull|extract)-\""
  # A line of a table that was loaded, or had nothing to load, in each form, and where the name of its dataset is.
  pulled_line = "\"severity\": \"INFO\".*\"event\": \"table_pulled\", \"dataset\": \"([^\"]+)\""
  pulled_forms = {
    for name, form in {
      pulled = { filter = "jsonPayload.event=\"table_pulled\" AND jsonPayload.severity=\"INFO\"", dataset = "EXTRACT(jsonPayload.dataset)" }
      pulled_message = {
        filter  = "jsonPayload.message=~${jsonencode(local.pulled_line)}"
        dataset = "REGEXP_EXTRACT(jsonPayload.message, ${jsonencode(local.pulled_line)})"
      }
      pulled_text = {
        filter  = "textPayload=~${jsonencode(local.pulled_line)}"
        dataset = "REGEXP_EXTRACT(textPayload, ${jsonencode(local.pulled_line)})"
      }
    } : name => form if local.has_pulls
  }
  # A runtime logs all lines in one of these forms, and only its metric has values.
  pulled_datasets = join(" or ", [
    for metric in values(google_logging_metric.pulled) :
    "increase(logging_googleapis_com:user_${replace(metric.name, "/[^A-Za-z0-9]/", "_")}{monitored_resource=\"cloud_dataproc_batch\"}[${var.late_pull_minutes}m])"
  ])
  check_alerts = local.reads_sources ? {
    "table differs from its source" = {
      filter = "resource.type=\"cloud_dataproc_batch\" AND resource.labels.batch_id=~\"^onefold-check-\" AND (jsonPayload.event=~\"^(check_failed|table_unchecked|database_not_checked)$\" OR jsonPayload.message=~\"check_failed|table_unchecked|database_not_checked\" OR textPayload=~\"check_failed|table_unchecked|database_not_checked\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = "A check found rows that differ between a table and its source, or could not check a table or a database. The table _checks of the dataset has the findings; onefold check --fix repairs the rows, those of a captured table by a copy."
    }
  } : {}
  pull_alerts = local.has_pulls ? {
    "pulled table failed" = {
      filter = "${local.pull_lines} AND ((jsonPayload.event=\"table_pulled\" AND jsonPayload.severity=\"ERROR\") OR jsonPayload.message=~\"\\\"severity\\\": \\\"ERROR\\\".*table_pulled\" OR textPayload=~\"\\\"severity\\\": \\\"ERROR\\\".*table_pulled\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = "A table could not be pulled; all others were. The log of the batch says why. The next pull reads on from where the last one that succeeded ended."
    }
    "pulled database failed" = {
      filter = "${local.pull_lines} AND (jsonPayload.event=\"database_not_pulled\" OR jsonPayload.message=~\"database_not_pulled\" OR textPayload=~\"database_not_pulled\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = "No table of a database could be pulled; the other databases of the batch were. The log of the batch says why. The next pull reads on from where the last one that succeeded ended."
    }
  } : {}
}

# Counts, by dataset, the tables that were loaded, or that had nothing to load: a table that is loaded full is skipped but once a
# day. A metric and an alert for each dataset would end at the 500 that a project may have
# (https://cloud.google.com/logging/quotas, https://cloud.google.com/monitoring/quotas, read 2026).
resource "google_logging_metric" "pulled" {
  for_each = local.pulled_forms

  name        = "${var.prefix}onefold/${each.key}"
  description = "Onefold: tables that were pulled, by dataset."
  filter      = "${local.pull_lines} AND ${each.value.filter}"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    labels {
      key        = "dataset"
      value_type = "STRING"
    }
  }
  label_extractors = { dataset = each.value.dataset }
}

# Every dataset counts: that the tables of another one are loaded says nothing about it.
resource "google_monitoring_alert_policy" "late_pulls" {
  count = local.has_pulls ? 1 : 0

  display_name          = "${var.prefix}Onefold: pulled tables are late"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels

  conditions {
    display_name = "tables of fewer than ${length(local.pulled)} datasets were pulled within ${var.late_pull_minutes} minutes"

    condition_prometheus_query_language {
      query                     = "(count(sum by (dataset) (${local.pulled_datasets}) >= 1) or vector(0)) < ${length(local.pulled)}"
      duration                  = "300s"
      evaluation_interval       = "60s"
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    content = "No table of some dataset was pulled: the schedule is paused, batches do not start, a password is wrong, or a source does not answer. The batches onefold-pull-… say which. Nothing is lost: the next pull reads on from where the last one ended. The datasets that were pulled are those of the query sum by (dataset) (${local.pulled_datasets})."
  }

  depends_on = [google_project_service.api]
}
