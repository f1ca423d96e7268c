# Tables of events: the function load_shredded, which each finished run of the shredder calls by the bucket's notification.
# Nothing of this exists without the variable `events`.
locals {
  has_events  = var.events != null
  events_only = local.has_events ? toset(["events"]) : toset([])
  events_runs = local.has_events ? trimsuffix(var.events.runs, "/") : ""
  # The bucket of the runs, and the folder in it with a slash at its end; empty for the whole bucket.
  events_bucket = local.has_events ? split("/", local.events_runs)[2] : ""
  events_folder = local.has_events ? trimprefix("${local.events_runs}/", "gs://${local.events_bucket}/") : ""

  # A load waits for BigQuery nearly all of its time. Loads that last longer than the function go on, and the next delivery
  # finds them. Most messages are about files of rows: a notification cannot choose the manifest, the last object of a run, by
  # the end of its name, and the function answers them at once.
  event_functions = {
    for name in local.has_events ? ["load_shredded"] : [] : name => {
      listens     = "shredded-runs"
      publishes   = ["table-created", "dead-letter"]
      description = "Loads finished runs of the shredder into the tables of their schemas."
      memory      = "1Gi"
      concurrency = 4
      instances   = 4
      timeout     = 540
    }
  }
  event_environment = local.has_events ? {
    ONEFOLD_EVENTS_DATASET      = var.events.dataset
    ONEFOLD_EVENTS_RUNS         = local.events_runs
    ONEFOLD_TOPIC_TABLE_CREATED = google_pubsub_topic.topic["table-created"].name
  } : {}
}

locals {
  event_alerts = local.has_events ? {
    "recovery table created" = {
      filter = "${local.services["load_shredded"]} AND jsonPayload.event=\"recovery_table\""
      labels = { table = "EXTRACT(jsonPayload.table)" }
      tell   = "A version of a schema does not fit into the table of its model, so its rows have a table of their own. Correct the schema in the producer by a new model."
    }
  } : {}
}

resource "google_storage_notification" "events" {
  for_each = local.events_only

  bucket             = local.events_bucket
  topic              = google_pubsub_topic.topic["shredded-runs"].id
  payload_format     = "JSON_API_V1"
  event_types        = ["OBJECT_FINALIZE"]
  object_name_prefix = local.events_folder == "" ? null : local.events_folder

  depends_on = [google_pubsub_topic_iam_member.events]
}

# Cloud Storage publishes by an agent of its own.
resource "google_pubsub_topic_iam_member" "events" {
  for_each = local.events_only

  topic  = google_pubsub_topic.topic["shredded-runs"].id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${local.kms_agents["storage"]}"
}

# Load jobs create the tables, add their columns and append; the manifest table is queried and gets rows.
resource "google_project_iam_custom_role" "events" {
  for_each = local.events_only

  role_id = "${local.role_prefix}_events"
  title   = "Onefold: loads events"
  permissions = [
    "bigquery.datasets.get",
    "bigquery.tables.create",
    "bigquery.tables.get",
    "bigquery.tables.getData",
    "bigquery.tables.update",
    "bigquery.tables.updateData",
  ]
}

resource "google_bigquery_dataset_iam_member" "events" {
  for_each = local.events_only

  dataset_id = data.google_bigquery_dataset.named[var.events.dataset].dataset_id
  role       = google_project_iam_custom_role.events["events"].name
  member     = "serviceAccount:${local.accounts["load_shredded"]}"
}

# A load job reads the files by the rights of the account that sends it. To list is a right on the bucket (buckets.tf).
resource "google_storage_bucket_iam_member" "events" {
  for_each = local.events_only

  bucket = local.events_bucket
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["load_shredded"]}"

  # A folder without a path is the whole bucket.
  dynamic "condition" {
    for_each = local.events_folder == "" ? [] : [local.events_folder]
    content {
      title       = "runs of the shredder only"
      description = "Objects of the folder of runs."
      expression  = "resource.name.startsWith(\"projects/_/buckets/${local.events_bucket}/objects/${condition.value}\")"
    }
  }
}
