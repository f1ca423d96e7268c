# The nightly check: one message for each dataset, upon which refresh_view publishes one for each table. Cloud Scheduler
# publishes as its own agent, whose role includes the right.
resource "google_cloud_scheduler_job" "refresh" {
  for_each = toset(var.refresh_schedule == null ? [] : var.datasets)

  name        = "${var.prefix}onefold-refresh-${substr(replace(each.value, "_", "-"), 0, 400)}-${substr(sha256(each.value), 0, 4)}"
  description = "Checks all views of ${each.value}."
  region      = var.region
  schedule    = var.refresh_schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = google_pubsub_topic.topic["table-created"].id
    data       = base64encode(jsonencode({ dataset = each.value }))
  }

  depends_on = [google_project_service.api]
}

# One batch for each dataset merges all of its tables that have new rows: the message names no table.
resource "google_cloud_scheduler_job" "merge" {
  for_each = toset(var.merge_schedule == null ? [] : var.datasets)

  name        = "${var.prefix}onefold-merge-${substr(replace(each.value, "_", "-"), 0, 400)}-${substr(sha256(each.value), 0, 4)}"
  description = "Merges all tables of ${each.value} that have new rows."
  region      = var.region
  schedule    = var.merge_schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = google_pubsub_topic.topic["batch-requests"].id
    data       = base64encode(jsonencode({ job = "reconcile", dataset = each.value }))
  }

  depends_on = [google_project_service.api]
}

resource "google_cloud_scheduler_job" "batch" {
  for_each = { for request in var.reconcile_schedules : "${request.job} ${request.dataset}.${request.table}" => request }

  # A table name may contain characters that the name of a job may not.
  name        = "${var.prefix}onefold-${each.value.job}-${substr(sha256(each.key), 0, 12)}"
  description = "Batch: ${each.key}."
  region      = var.region
  schedule    = each.value.schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = google_pubsub_topic.topic["batch-requests"].id
    data = base64encode(jsonencode({
      job       = each.value.job
      dataset   = each.value.dataset
      table     = { name = each.value.table }
      arguments = each.value.arguments
    }))
  }

  depends_on = [google_project_service.api]
}
