# Where resources were before they were put into modules, so that a deployment keeps them. A release later, all of it may go.
moved {
  from = google_storage_bucket.artifacts
  to   = module.buckets.google_storage_bucket.temporary["artifacts"]
}

moved {
  from = google_storage_bucket.staging
  to   = module.buckets.google_storage_bucket.temporary["staging"]
}

moved {
  from = google_storage_bucket.pulled[0]
  to   = module.buckets.google_storage_bucket.temporary["pulled"]
}

moved {
  from = google_storage_bucket.pull_staging
  to   = module.pull_staging.google_storage_bucket.temporary
}

moved {
  from = google_storage_bucket.capture
  to   = module.buckets.google_storage_bucket.kept["capture"]
}

moved {
  from = google_storage_bucket.registry[0]
  to   = module.buckets.google_storage_bucket.kept["registry"]
}

moved {
  from = google_cloud_scheduler_job.refresh
  to   = module.schedules["refresh"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_cloud_scheduler_job.merge
  to   = module.schedules["merge"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_cloud_scheduler_job.batch
  to   = module.schedules["batch"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_cloud_scheduler_job.pull
  to   = module.schedules["pull"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_cloud_scheduler_job.check
  to   = module.schedules["check"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_cloud_scheduler_job.shred
  to   = module.schedules["shred"].google_cloud_scheduler_job.schedule
}

moved {
  from = google_storage_bucket_iam_member.batch_folders
  to   = module.folder_rights["folder"].google_storage_bucket_iam_member.folder
}

moved {
  from = google_storage_bucket_iam_member.shred
  to   = module.folder_rights["shred"].google_storage_bucket_iam_member.folder
}

moved {
  from = google_cloudfunctions2_function.registry[0]
  to   = google_cloudfunctions2_function.function["schema_registry"]
}

moved {
  from = google_monitoring_alert_policy.waiting_rows
  to   = google_monitoring_alert_policy.waiting["waiting_rows"]
}

moved {
  from = google_monitoring_alert_policy.dead_letters
  to   = google_monitoring_alert_policy.waiting["dead_letters"]
}
