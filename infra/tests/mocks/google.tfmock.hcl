# What Google would answer, where the configuration builds on it.

mock_data "google_project" {
  defaults = { number = "123456789012" }
}

mock_data "google_bigquery_dataset" {
  defaults = { location = "europe-west1" }
}

mock_resource "google_storage_bucket" {
  defaults = { project_number = 123456789012 }
}

mock_resource "google_logging_project_sink" {
  defaults = { writer_identity = "serviceAccount:sink@gcp-sa-logging.iam.gserviceaccount.com" }
}

mock_resource "google_compute_subnetwork" {
  defaults = { id = "projects/my-project/regions/europe-west1/subnetworks/onefold-batches" }
}

mock_resource "google_monitoring_dashboard" {
  defaults = { id = "projects/my-project/dashboards/onefold" }
}

override_resource {
  target = google_service_account.account["refresh_view"]
  values = { email = "onefold-refresh-view@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["launch_batch"]
  values = { email = "onefold-launch-batch@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["push_refresh_view"]
  values = { email = "onefold-push-refresh-view@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["push_launch_batch"]
  values = { email = "onefold-push-launch-batch@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["sink_records"]
  values = { email = "onefold-sink-records@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["push_sink_records"]
  values = { email = "onefold-push-sink-records@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_project_iam_custom_role.sink
  values = { name = "projects/my-project/roles/onefold_sink" }
}

override_resource {
  target = google_project_iam_custom_role.capture
  values = { name = "projects/my-project/roles/onefold_capture" }
}

override_resource {
  target = google_pubsub_topic.topic["change-records"]
  values = { id = "projects/my-project/topics/change-records" }
}

override_resource {
  target = google_service_account.account["batch"]
  values = { email = "onefold-batch@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["build"]
  values = { email = "onefold-build@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_project_iam_custom_role.source
  values = { name = "projects/my-project/roles/onefold_source" }
}

override_resource {
  target = google_project_iam_custom_role.views
  values = { name = "projects/my-project/roles/onefold_views" }
}

override_resource {
  target = google_project_iam_custom_role.batch
  values = { name = "projects/my-project/roles/onefold_batch" }
}

override_resource {
  target = google_project_iam_custom_role.launch
  values = { name = "projects/my-project/roles/onefold_launch" }
}

override_resource {
  target = google_pubsub_topic.topic["table-created"]
  values = { id = "projects/my-project/topics/table-created" }
}

override_resource {
  target = google_pubsub_topic.topic["batch-requests"]
  values = { id = "projects/my-project/topics/batch-requests" }
}

override_resource {
  target = google_pubsub_topic.topic["schema-changes"]
  values = { id = "projects/my-project/topics/schema-changes" }
}

override_resource {
  target = google_pubsub_topic.topic["dead-letter"]
  values = { id = "projects/my-project/topics/dead-letter" }
}

override_resource {
  target = google_project_iam_custom_role.staging
  values = { name = "projects/my-project/roles/onefold_staging" }
}

override_resource {
  target = google_service_account.capture["shop-db"]
  values = { email = "capture-shop-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.capture["crm-db"]
  values = { email = "capture-crm-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.access
  values = {
    id    = "projects/my-project/serviceAccounts/onefold-access@my-project.iam.gserviceaccount.com"
    email = "onefold-access@my-project.iam.gserviceaccount.com"
  }
}

override_resource {
  target = google_project_iam_custom_role.access
  values = { name = "projects/my-project/roles/onefold_access" }
}

override_resource {
  target = google_project_iam_custom_role.access_bypasses
  values = { name = "projects/my-project/roles/onefold_access_bypasses" }
}

override_resource {
  target = google_project_iam_custom_role.capture_objects
  values = { name = "projects/my-project/roles/onefold_capture_objects" }
}

override_resource {
  target = google_project_iam_custom_role.capture_names
  values = { name = "projects/my-project/roles/onefold_capture_names" }
}

override_resource {
  target = google_service_account.account["schema_registry"]
  values = { email = "onefold-schema-registry@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_project_iam_custom_role.registry[0]
  values = { name = "projects/my-project/roles/onefold_registry" }
}

override_resource {
  target = google_service_account.pull["fraud"]
  values = { email = "pull-fraud@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.pull["ads"]
  values = { email = "pull-ads@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_project_iam_custom_role.pull_objects
  values = { name = "projects/my-project/roles/onefold_pull_objects" }
}

override_resource {
  target = google_project_iam_custom_role.pull_bucket
  values = { name = "projects/my-project/roles/onefold_pull_bucket" }
}

override_resource {
  target = google_service_account.account["load_shredded"]
  values = { email = "onefold-load-shredded@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["push_load_shredded"]
  values = { email = "onefold-push-load-shredded@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_project_iam_custom_role.events["events"]
  values = { name = "projects/my-project/roles/onefold_events" }
}

override_resource {
  target = google_project_iam_custom_role.pages
  values = { name = "projects/my-project/roles/onefold_pages" }
}

override_resource {
  target = google_project_iam_custom_role.page_ledger
  values = { name = "projects/my-project/roles/onefold_page_ledger" }
}

override_resource {
  target = google_project_iam_custom_role.page_logs
  values = { name = "projects/my-project/roles/onefold_page_logs" }
}

override_resource {
  target = google_service_account.account["write_pages"]
  values = { email = "onefold-write-pages@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_service_account.account["push_write_pages"]
  values = { email = "onefold-push-write-pages@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target = google_pubsub_topic.topic["page-requests"]
  values = { id = "projects/my-project/topics/page-requests" }
}

override_resource {
  target = google_pubsub_topic.topic["shredded-runs"]
  values = { id = "projects/my-project/topics/shredded-runs" }
}

override_resource {
  target = google_project_iam_custom_role.plain_source
  values = { name = "projects/my-project/roles/onefold_plain_source" }
}

override_resource {
  target = google_project_iam_custom_role.ledger
  values = { name = "projects/my-project/roles/onefold_ledger" }
}

override_resource {
  target = google_project_iam_custom_role.decisions
  values = { name = "projects/my-project/roles/onefold_decisions" }
}
