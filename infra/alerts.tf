locals {
  # Logs of 2nd gen functions are those of the Cloud Run service below them.
  services = {
    for name, function in google_cloudfunctions2_function.function :
    name => "resource.type=\"cloud_run_revision\" AND resource.labels.service_name=\"${function.name}\""
  }
  logs_of_functions = "(${join(" OR ", [for filter in values(local.services) : "(${filter})"])})"
  # Cloud Run logs each answer of 500 as an error, also if the function only asks for a later delivery of the message.
  # The log line of the function itself has the right severity.
  errors = "${local.logs_of_functions} AND severity>=ERROR AND NOT httpRequest.status=500"

  # A batch is a long-running operation: its last entry in the audit log is written when the batch ends.
  failed_batches = join(" AND ", [
    "protoPayload.serviceName=\"dataproc.googleapis.com\"",
    "protoPayload.methodName=~\"BatchController\\.CreateBatch$\"",
    "(protoPayload.resourceName=~\"/batches/onefold-\" OR resource.labels.batch_id=~\"^onefold-\")",
    "operation.last=true",
    "severity>=ERROR",
  ])

  # Each matching log line opens an incident with the line's labels, at most one incident an hour.
  log_alerts = {
    "function errors" = {
      filter = local.errors
      labels = { function = "EXTRACT(resource.labels.service_name)", event = "EXTRACT(jsonPayload.event)" }
      tell   = "A function could not handle a message, or cannot start. What it could not handle waits in the dead-letter subscription."
    }
    "batch failed" = {
      filter = local.failed_batches
      labels = { batch = "EXTRACT(protoPayload.resourceName)" }
      tell   = "A Spark batch failed. Its log says why; the same message again, or the next schedule, does it over without harm."
    }
    # Output of a driver is logged as text by some versions of the runtime, and as fields by others.
    "comparison found differences" = {
      filter = "resource.type=\"cloud_dataproc_batch\" AND resource.labels.batch_id=~\"^onefold-compare-\" AND (jsonPayload.event=\"differences_found\" OR jsonPayload.message=~\"differences_found\" OR textPayload=~\"differences_found\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = "A comparison found rows that differ. Its log has the counts, and the output that was asked for has the rows."
    }
    "merges are late" = {
      filter = "resource.type=\"cloud_dataproc_batch\" AND resource.labels.batch_id=~\"^onefold-reconcile-\" AND (jsonPayload.event=\"merges_late\" OR jsonPayload.message=~\"merges_late\" OR textPayload=~\"merges_late\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = "Tables with new rows have not been merged for long. Nothing is lost, and current views are right, but reading them costs more with each hour. The line says how many tables, and which one is the oldest: raise merge_parallel, let tables wait by merge_when, or see in the lines table_done why merges fail."
    }
    # Capture may run anywhere, so only events identify its log lines.
    "table emptied at the source" = {
      filter = "severity=CRITICAL AND (jsonPayload.event=\"table_truncated\" OR jsonPayload.event=\"table_dropped\" OR jsonPayload.event=\"table_renamed\")"
      labels = { event = "EXTRACT(jsonPayload.event)", database = "EXTRACT(jsonPayload.database)", table = "EXTRACT(jsonPayload.table)" }
      tell   = "A table was truncated, dropped or renamed at the source. Nothing that has landed is removed: the current view of its name still shows its rows."
    }
    "table in quarantine" = {
      filter = "severity=CRITICAL AND jsonPayload.event=\"quarantined\""
      labels = { kind = "EXTRACT(jsonPayload.kind)", database = "EXTRACT(jsonPayload.database)", table = "EXTRACT(jsonPayload.table)" }
      tell   = "A table cannot be captured, and its rows are not published; all others go on. The line says why, and what to do."
    }
    "table with another key" = {
      filter = "severity=CRITICAL AND jsonPayload.event=\"key_differs\""
      labels = { source = "EXTRACT(jsonPayload.source)", database = "EXTRACT(jsonPayload.database)", table = "EXTRACT(jsonPayload.table)" }
      tell   = "A table has another key than its versioned table declares, so current views and merges refuse it, for rows may hide each other. The line says what to do."
    }
    # The lag is that of what Pub/Sub has confirmed; a quiet source has none.
    "capture is late" = {
      filter = "severity=INFO AND jsonPayload.event=\"captured\" AND jsonPayload.lag_seconds>${var.capture_lag_seconds}"
      labels = { source = "EXTRACT(jsonPayload.source)" }
      tell   = "Capture is behind its source: the source does not answer, Pub/Sub takes nothing, or a transaction is very large. The lines source_lost and publish_again say which. Nothing is lost while the source keeps its binary log."
    }
    "breaking schema change" = {
      filter = "${local.services["refresh_view"]} AND jsonPayload.event=\"refreshed\" AND jsonPayload.changes_severity=\"CRITICAL\""
      labels = { dataset = "EXTRACT(jsonPayload.dataset)", table = "EXTRACT(jsonPayload.table)" }
      tell   = "A column was removed from a view, or became another family of types. Queries on the view may need a change."
    }
    "values held back by a contract" = {
      filter = "${local.services["refresh_view"]} AND jsonPayload.event=\"held_values\" AND jsonPayload.total>0"
      labels = { view = "EXTRACT(jsonPayload.view)" }
      tell   = "A view does not show values, because a contract keeps the type of their column. The line has their number by column; the tables keep them. onefold changes lists the change: onefold changes accept shows the values."
    }
  }

  # Jobs of Cloud Run that a schedule starts: the system logs an error when an execution has failed, also one that never began.
  scheduled_jobs = concat(values(google_cloud_run_v2_job.notify)[*].name, values(google_cloud_run_v2_job.readers)[*].name)
  job_alerts = length(local.notifying) + length(local.column_readers) == 0 ? {} : {
    "scheduled job failed" = {
      filter = "resource.type=\"cloud_run_job\" AND (${join(" OR ", [for name in local.scheduled_jobs : "resource.labels.job_name=\"${name}\""])}) AND severity>=ERROR"
      labels = { job = "EXTRACT(resource.labels.job_name)" }
      tell   = "A job failed that notifies owners of changes, or finds out who reads each column. Its log says why; the next run does it over without harm."
    }
  }

  channels = google_monitoring_notification_channel.email[*].name
}

resource "google_monitoring_notification_channel" "email" {
  count = var.alert_email == null ? 0 : 1

  display_name = "${var.prefix}Onefold"
  type         = "email"
  labels       = { email_address = var.alert_email }

  depends_on = [google_project_service.api]
}

# The policies match log lines instead of log-based metrics: a policy is refused until its metric has a descriptor, which
# takes minutes for a new metric.
resource "google_monitoring_alert_policy" "log" {
  for_each = merge(local.log_alerts, local.pull_alerts, local.check_alerts, local.shred_alerts, local.event_alerts, local.job_alerts)

  display_name          = "${var.prefix}Onefold: ${each.key}"
  combiner              = "OR"
  severity              = lookup({ "breaking schema change" = "WARNING", "values held back by a contract" = "WARNING", "table with another key" = "CRITICAL" }, each.key, "ERROR")
  notification_channels = local.channels

  conditions {
    display_name = each.key

    condition_matched_log {
      filter           = each.value.filter
      label_extractors = each.value.labels
    }
  }

  alert_strategy {
    auto_close = "86400s"

    notification_rate_limit {
      period = "3600s"
    }
  }

  documentation {
    content = each.value.tell
  }

  depends_on = [google_project_service.api]
}

# Messages expire after seven days. An alert after one hour leaves time to fix the cause.
locals {
  waiting = {
    waiting_rows = {
      title        = "captured rows do not land"
      what         = "age of the oldest message"
      metric       = "oldest_unacked_message_age"
      subscription = google_pubsub_subscription.push["sink_records"].name
      more_than    = 3600
      tell         = "Captured rows wait for more than an hour: for a table that is not there, or for BigQuery. The function's log says for what. After 16 hours or so they go to the dead letters."
    }
    dead_letters = {
      title        = "dead letters are waiting"
      what         = "messages"
      metric       = "num_undelivered_messages"
      subscription = google_pubsub_subscription.dead_letter.name
      more_than    = 0
      tell         = "Messages could not be handled, and are kept for 7 days. docs/how-to/replay-dead-letters.md says how to look at them and how to send them again."
    }
  }
}

resource "google_monitoring_alert_policy" "waiting" {
  for_each = local.waiting

  display_name          = "${var.prefix}Onefold: ${each.value.title}"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels

  conditions {
    display_name = "${each.value.what} in ${each.value.subscription}"

    condition_threshold {
      filter          = "metric.type=\"pubsub.googleapis.com/subscription/${each.value.metric}\" AND resource.type=\"pubsub_subscription\" AND resource.labels.subscription_id=\"${each.value.subscription}\""
      comparison      = "COMPARISON_GT"
      threshold_value = each.value.more_than
      duration        = "300s"

      aggregations {
        alignment_period   = "300s"
        per_series_aligner = "ALIGN_MAX"
      }
    }
  }

  documentation {
    content = each.value.tell
  }

  depends_on = [google_project_service.api]
}
