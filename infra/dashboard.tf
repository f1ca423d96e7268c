# The metrics of the dashboard, from log lines of the functions: docs/reference/log-events.md.
locals {
  log_metrics = {
    refreshes = { filter = "${local.services["refresh_view"]} AND jsonPayload.event=\"refreshed\"", label = "action", from = "jsonPayload.action" }
    batches   = { filter = "${local.services["launch_batch"]} AND jsonPayload.event=\"launched\" AND jsonPayload.created=true", label = "job", from = "jsonPayload.job" }
    errors    = { filter = local.errors, label = "event", from = "jsonPayload.event" }
    # The audit log does not name the job; the name of the batch contains it.
    failed_batches = { filter = local.failed_batches, label = "batch", from = "protoPayload.resourceName" }
  }
}

resource "google_logging_metric" "count" {
  for_each = local.log_metrics

  name        = "${var.prefix}onefold/${each.key}"
  description = "Onefold: ${replace(each.key, "_", " ")}, by ${each.value.label}."
  filter      = each.value.filter

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"

    labels {
      key        = each.value.label
      value_type = "STRING"
    }
  }
  label_extractors = { (each.value.label) = "EXTRACT(${each.value.from})" }
}

resource "google_logging_metric" "latency" {
  name            = "${var.prefix}onefold/refresh_milliseconds"
  description     = "Onefold: how long refreshes take, in milliseconds."
  filter          = local.log_metrics.refreshes.filter
  value_extractor = "EXTRACT(jsonPayload.milliseconds)"

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "DISTRIBUTION"
    unit        = "ms"
  }

  bucket_options {
    exponential_buckets {
      num_finite_buckets = 20
      growth_factor      = 2
      scale              = 1
    }
  }
}

resource "google_monitoring_dashboard" "onefold" {
  dashboard_json = templatefile("${path.module}/dashboard.json.tftpl", {
    title         = "${var.prefix}Onefold"
    metrics       = { for name, metric in merge(google_logging_metric.count, { captured = google_logging_metric.captured }) : name => "logging.googleapis.com/user/${metric.name}" }
    latency       = "logging.googleapis.com/user/${google_logging_metric.latency.name}"
    labels        = { for name, metric in local.log_metrics : name => metric.label }
    subscriptions = [for subscription in google_pubsub_subscription.push : subscription.name]
    dead_letters  = google_pubsub_subscription.dead_letter.name
  })

  depends_on = [google_project_service.api]
}
