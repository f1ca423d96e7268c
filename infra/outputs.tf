output "topics" {
  description = "The topics by purpose."
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
  description = "A command that shows dead letters without removing them."
  value       = "gcloud pubsub subscriptions pull ${google_pubsub_subscription.dead_letter.name} --project=${var.project} --limit=10"
}

output "functions" {
  description = "The URLs of the functions; only their push subscriptions may call them."
  value       = local.endpoints
}

output "schema_registry" {
  description = "The base address of the schema registry's API, and its bucket; null without a registry."
  value       = local.has_registry ? { api = "${google_cloudfunctions2_function.function["schema_registry"].service_config[0].uri}/api", bucket = module.buckets.names["registry"] } : null
}

output "service_accounts" {
  description = "The accounts by purpose; those of sources are in `captures`."
  value       = local.accounts
}

output "buckets" {
  description = "The buckets of deployed code, of temporary files of batches, and of capture."
  value = {
    artifacts = module.buckets.names["artifacts"]
    staging   = module.buckets.names["staging"]
    capture   = module.buckets.names["capture"]
  }
}

output "dashboard" {
  description = "Refreshes, latency and batches."
  value       = "https://console.cloud.google.com/monitoring/dashboards/builder/${basename(google_monitoring_dashboard.onefold.id)}?project=${var.project}"
}

output "dataset_grants" {
  description = "All rights on datasets that this deployment has granted, and the datasets of its views; `make deploy` writes them to a file for `onefold access`."
  value = {
    views = distinct(concat([for source, views in local.view_datasets : views if source != views], keys(local.made_datasets)))
    grants = concat(local.key_grants, [
      for grant in concat(
        values(google_bigquery_dataset_iam_member.access),
        values(google_bigquery_dataset_iam_member.batch),
        values(google_bigquery_dataset_iam_member.batch_views),
        values(google_bigquery_dataset_iam_member.capture),
        values(google_bigquery_dataset_iam_member.clean),
        values(google_bigquery_dataset_iam_member.check),
        values(google_bigquery_dataset_iam_member.check_create),
        values(google_bigquery_dataset_iam_member.check_rows),
        values(google_bigquery_dataset_iam_member.check_staging),
        values(google_bigquery_dataset_iam_member.events),
        values(google_bigquery_dataset_iam_member.full),
        values(google_bigquery_dataset_iam_member.full_check),
        values(google_bigquery_dataset_iam_member.full_leaves),
        values(google_bigquery_dataset_iam_member.leaves),
        values(google_bigquery_dataset_iam_member.notify),
        values(google_bigquery_dataset_iam_member.page_ledger),
        values(google_bigquery_dataset_iam_member.page_logs),
        values(google_bigquery_dataset_iam_member.pages),
        values(google_bigquery_dataset_iam_member.plain),
        values(google_bigquery_dataset_iam_member.plain_source),
        values(google_bigquery_dataset_iam_member.plain_staging),
        values(google_bigquery_dataset_iam_member.pull),
        values(google_bigquery_dataset_iam_member.pull_staging),
        values(google_bigquery_dataset_iam_member.refresh_view),
        values(google_bigquery_dataset_iam_member.sink_records),
        values(google_bigquery_dataset_iam_member.staging),
        values(google_bigquery_dataset_iam_member.writers),
      ) : { dataset = grant.dataset_id, role = grant.role, member = grant.member, condition = one(grant.condition[*].expression) }
    ])
  }
}
