output "topics" {
  description = "The topics, by what they are for."
  value       = { for purpose, topic in google_pubsub_topic.topic : purpose => topic.id }
}

output "publish" {
  description = "A command that asks for the refresh of one table's view."
  value = format(
    "gcloud pubsub topics publish %s --project=%s --message='%s'",
    google_pubsub_topic.topic["table-created"].name, var.project,
    jsonencode({ dataset = try(var.datasets[0], "DATASET"), table = { name = "TABLE" } }),
  )
}

output "dead_letters" {
  description = "A command that shows what could not be handled, and leaves it there."
  value       = "gcloud pubsub subscriptions pull ${google_pubsub_subscription.dead_letter.name} --project=${var.project} --limit=10"
}

output "functions" {
  description = "The functions' addresses; only their push subscriptions may call them."
  value       = local.endpoints
}

output "service_accounts" {
  description = "Who does what; the accounts of sources are in `captures`."
  value       = local.accounts
}

output "buckets" {
  description = "What is deployed, what batches stage, and capture's own."
  value = {
    artifacts = google_storage_bucket.artifacts.name
    staging   = google_storage_bucket.staging.name
    capture   = google_storage_bucket.capture.name
  }
}

output "dashboard" {
  description = "Refreshes, latency and batches."
  value       = "https://console.cloud.google.com/monitoring/dashboards/builder/${basename(google_monitoring_dashboard.onefold.id)}?project=${var.project}"
}
