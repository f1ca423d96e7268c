# What happens at fixed times, by the topic that it is published to. Schedules of pulled tables are in pulls.tf, and those of
# events in shreds.tf.
locals {
  # The nightly check: one message for each dataset, upon which refresh_view publishes one for each table.
  refresh_schedules = {
    for dataset in var.refresh_schedule == null ? [] : local.served_datasets : dataset => {
      name        = "${var.prefix}onefold-refresh-${local.schedule_names[dataset]}"
      description = "Checks all views of ${dataset}."
      schedule    = var.refresh_schedule
      message     = jsonencode({ dataset = dataset })
    }
  }
  # One batch for each dataset merges all of its tables that have new rows: the message names no table.
  merge_schedules = {
    for dataset in var.merge_schedule == null ? [] : local.served_datasets : dataset => {
      name        = "${var.prefix}onefold-merge-${local.schedule_names[dataset]}"
      description = "Merges all tables of ${dataset} that have new rows."
      schedule    = var.merge_schedule
      message     = jsonencode(merge({ job = "reconcile", dataset = dataset }, local.merge_arguments))
    }
  }
  # Only what differs from the job's own defaults.
  merge_named     = { for name, value in { parallel = var.merge_parallel, late-hours = var.merge_late_hours } : name => value if value != null }
  merge_arguments = { for name in ["arguments"] : name => local.merge_named if length(local.merge_named) > 0 }
  batch_schedules = {
    for key, request in { for request in module.typed.reconcile_schedules : "${request.job} ${request.dataset}.${request.table}" => request } : key => {
      # A table name may contain characters that the name of a job may not.
      name        = "${var.prefix}onefold-${request.job}-${substr(sha256(key), 0, 12)}"
      description = "Batch: ${key}."
      schedule    = request.schedule
      message = jsonencode({
        job       = request.job
        dataset   = request.dataset
        table     = { name = request.table }
        arguments = request.arguments
      })
    }
  }
  schedule_names = { for dataset in local.served_datasets : dataset => "${substr(replace(dataset, "_", "-"), 0, 400)}-${substr(sha256(dataset), 0, 4)}" }
}

module "schedules" {
  source = "./modules/schedules"
  for_each = {
    refresh = { topic = "table-created", schedules = local.refresh_schedules }
    merge   = { topic = "batch-requests", schedules = local.merge_schedules }
    batch   = { topic = "batch-requests", schedules = local.batch_schedules }
    pull    = { topic = "batch-requests", schedules = local.pull_schedules }
    check   = { topic = "batch-requests", schedules = merge(local.check_schedules, local.capture_check_schedules) }
    shred   = { topic = "batch-requests", schedules = local.shred_schedules }
    page    = { topic = local.has_pages ? "page-requests" : "batch-requests", schedules = local.page_schedules }
  }

  topic     = google_pubsub_topic.topic[each.value.topic].id
  schedules = each.value.schedules
  region    = var.region
  time_zone = var.time_zone

  # A first run may begin as soon as its schedule is there. A message of this release is for the functions of this release: an
  # older one would refuse a job that it does not know.
  depends_on = [google_project_service.api, module.folder_rights, google_cloudfunctions2_function.function]
}
