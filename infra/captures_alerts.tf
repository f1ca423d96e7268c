# Counts the line that each process of capture logs every minute.
resource "google_logging_metric" "captured" {
  name        = "${var.prefix}onefold/captured"
  description = "Onefold: lines that capture logs every minute with its progress."
  filter      = "resource.type=\"cloud_run_worker_pool\" AND severity=INFO AND jsonPayload.event=\"captured\""

  metric_descriptor {
    metric_kind = "DELTA"
    value_type  = "INT64"
  }
}

locals {
  # The name of the metric in PromQL. https://cloud.google.com/monitoring/promql/promql-mapping, read 2026
  captured_metric = "logging_googleapis_com:user_${replace(google_logging_metric.captured.name, "/[^A-Za-z0-9]/", "_")}"
}

# A query instead of a condition of absence: such a condition is refused until its metric has a descriptor, which takes minutes
# for a new metric, and it does not report a process that never logged a line. https://cloud.google.com/monitoring/alerts/metric-absence
resource "google_monitoring_alert_policy" "silent_capture" {
  for_each = local.worker_pools

  display_name          = "${var.prefix}Onefold: capture of ${each.key} is silent"
  combiner              = "OR"
  severity              = "ERROR"
  notification_channels = local.channels

  conditions {
    display_name = "no line of ${each.value.full_name} for 15 minutes"

    # No line within 5 minutes, at each evaluation for 10 minutes: an instance may need so long to start and reach its source.
    condition_prometheus_query_language {
      query                     = "(sum(increase(${local.captured_metric}{monitored_resource=\"cloud_run_worker_pool\",worker_pool_name=\"${each.value.full_name}\"}[5m])) or vector(0)) < 1"
      duration                  = "600s"
      evaluation_interval       = "60s"
      disable_metric_validation = true
    }
  }

  alert_strategy {
    auto_close = "86400s"
  }

  documentation {
    content = "Nothing of ${each.value.source} is captured: the process does not run, cannot reach its source at its start, or Pub/Sub takes nothing. The log of the worker pool ${each.value.full_name} says which. Nothing is lost while the source keeps its binary log."
  }

  depends_on = [google_project_service.api]
}
