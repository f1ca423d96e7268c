"""Mutations of infra/: each is one change of a file, with the resources whose lines in everything.txt differ."""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    seen: frozenset[str]


def mutant(file: str, old: str, new: str, *seen: str) -> Mutant:
    return Mutant(file, old, new, frozenset(seen))


MEMBER, OBJECTS = "google_storage_bucket_iam_member", "google_storage_bucket"
DATASET, GRANTS = "google_bigquery_dataset_iam_member", "output.dataset_grants.grants"
TABLE = "google_bigquery_table_iam_member"
ALERT, METRIC = "google_monitoring_alert_policy", "google_logging_metric"
FUNCTION = "google_cloudfunctions2_function.function"
TEMPORARY = (f"module.buckets.{OBJECTS}.temporary", f"module.pull_staging.{OBJECTS}.temporary")
FOLDERS = tuple(f'module.folder_rights["{kind}"].{MEMBER}.folder' for kind in ("folder", "shred"))
JOBS = {
    kind: f'module.schedules["{kind}"].google_cloud_scheduler_job.schedule'
    for kind in ("refresh", "merge", "batch", "pull", "check", "shred", "page")
}
_WIDE = '"${local.is_table} && resource.name.startsWith(\\"projects/${var.project}/datasets/${local.pulled[each.value.pulled].views}/tables/onefold_leaf_\\")"'

# Two mutants of one group touch different resources, so that one plan shows them all.
GROUPS: tuple[tuple[Mutant, ...], ...] = (
    (
        # The ledger: who appends, what that allows, and who else may do anything there.
        mutant("changes.tf", '["bigquery.tables.get", "bigquery.tables.updateData"]', '["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData"]', "google_project_iam_custom_role.ledger"),
        mutant("changes.tf", "google_project_iam_custom_role.ledger[0].name", "google_project_iam_custom_role.batch.name", f"{TABLE}.ledger", f"{TABLE}.registry_ledger", f"{TABLE}.batch_ledger"),
        mutant("changes.tf", 'special_group = "projectOwners"', 'special_group = "projectWriters"', "google_bigquery_dataset.changes"),
        mutant("changes.tf", "deletion_protection = true", "deletion_protection = false", "google_bigquery_table.changes", "google_bigquery_table.decisions"),
        mutant("functions.tf", 'ONEFOLD_CHANGES_DATASET      = var.changes_dataset == null ? "" : google_bigquery_dataset.changes[0].dataset_id', 'ONEFOLD_CHANGES_DATASET      = ""', FUNCTION),
    ),
    (
        mutant("changes.tf", 'local.accounts["refresh_view"]', 'local.accounts["batch"]', f"{TABLE}.ledger", f"{TABLE}.decisions"),
        mutant("changes.tf", 'local.accounts["schema_registry"]', 'local.accounts["sink_records"]', f"{TABLE}.registry_ledger"),
        mutant("changes.tf", 'local.accounts["batch"]', 'local.accounts["launch_batch"]', f"{TABLE}.batch_ledger"),
        mutant("changes.tf", '["bigquery.tables.get", "bigquery.tables.updateData"]', '["bigquery.tables.get", "bigquery.tables.update", "bigquery.tables.updateData"]', "google_project_iam_custom_role.ledger"),
        mutant("changes.tf", "time_partitioning {", 'clustering = ["table"]\n  time_partitioning {', "google_bigquery_table.changes"),
    ),
    (
        # The job that notifies owners: what it reads, what it appends to, whose secrets, and as whom it runs.
        mutant("changes_notify.tf", 'title       = "Onefold: reads the ledger of changes"\n  permissions = ["bigquery.tables.get", "bigquery.tables.getData"]', 'title       = "Onefold: reads the ledger of changes"\n  permissions = ["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData"]', "google_project_iam_custom_role.notify_ledger"),
        mutant("changes_notify.tf", '["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData"]', '["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData", "bigquery.tables.delete"]', "google_project_iam_custom_role.notify_rows"),
        mutant("changes_notify.tf", "table_id   = google_bigquery_table.notifications[each.key].table_id", "table_id   = google_bigquery_table.changes[0].table_id", f"{TABLE}.notify"),
        mutant("changes_notify.tf", "google_project_iam_custom_role.notify_ledger[each.key].name", "google_project_iam_custom_role.notify_rows[each.key].name", f"{DATASET}.notify"),
        mutant("changes_notify.tf", '"roles/secretmanager.secretAccessor"', '"roles/secretmanager.admin"', "google_secret_manager_secret_iam_member.notify"),
        mutant("changes_notify.tf", '"roles/pubsub.publisher"', '"roles/pubsub.editor"', "google_pubsub_topic_iam_member.notify"),
        mutant("changes_notify.tf", '"roles/bigquery.jobUser"', '"roles/bigquery.user"', "google_project_iam_member.notify"),
        mutant("changes_notify.tf", "max_retries     = 0", "max_retries     = 3", "google_cloud_run_v2_job.notify"),
        mutant("changes_notify.tf", '"roles/run.invoker"', '"roles/run.admin"', "google_cloud_run_v2_job_iam_member.notify"),
        mutant("changes_notify.tf", "deletion_protection = true", "deletion_protection = false", "google_bigquery_table.notifications"),
    ),
    (
        # Streams: their mode, what they read, where the password is, and who may write where.
        mutant("streams.tf", "append_only {}", "merge {}", "google_datastream_stream.stream"),
        mutant("streams.tf", "secret_manager_stored_password = local.stream_passwords[each.key]", 'password = "x"', "google_datastream_connection_profile.source"),
        mutant("streams.tf", 'member    = "serviceAccount:${local.datastream_agent}"', 'member    = "allAuthenticatedUsers"', "google_secret_manager_secret_iam_member.stream"),
        mutant("streams.tf", "subnet = var.stream_network.range", 'subnet = "10.0.0.0/8"', "google_datastream_private_connection.streams"),
        mutant("plain.tf", "google_project_iam_custom_role.plain_source[0].name", "google_project_iam_custom_role.batch.name", f"{DATASET}.plain_source", GRANTS),
        mutant("plain.tf", '["bigquery.datasets.get", "bigquery.tables.getData"]', '["bigquery.datasets.get", "bigquery.tables.getData", "bigquery.tables.updateData"]', "google_project_iam_custom_role.plain_source"),
        mutant("plain.tf", 'each.value.role == "views" ? google_project_iam_custom_role.views.name : google_project_iam_custom_role.batch.name', "google_project_iam_custom_role.batch.name", f"{DATASET}.plain"),
        mutant("plain.tf", '"resource.name.startsWith(\\"projects/', '"resource.name != (\\"projects/', f"{DATASET}.plain_staging"),
        mutant("plain.tf", 'Datastream\'s agent has its\n  # right in the project.\n  access {\n    role          = "OWNER"\n    special_group = "projectOwners"', 'Datastream\'s agent has its\n  # right in the project.\n  access {\n    role          = "OWNER"\n    special_group = "projectReaders"', "google_bigquery_dataset.streamed"),
        mutant("plain.tf", 'target_types = ["VIEWS"]', "target_types = []", "google_bigquery_dataset_access.plain"),
    ),
    (
        mutant("streams.tf", 'each.value.running ? "RUNNING" : "PAUSED"', '"RUNNING"', "google_datastream_stream.stream"),
        # What is served: the audit log's entries, messages, merges and the nightly check.
        mutant("modules/audit_filter/main.tf", '"${dataset}/tables/[^/]+"', '"[^/]+/tables/[^/]+"', "google_logging_project_sink.tables"),
        mutant("functions.tf", 'join(",", local.served_datasets)', 'join(",", var.datasets)', FUNCTION),
        mutant("schedules.tf", "var.merge_schedule == null ? [] : local.served_datasets", "var.merge_schedule == null ? [] : var.datasets", JOBS["merge"]),
        mutant("schedules.tf", "var.refresh_schedule == null ? [] : local.served_datasets", "var.refresh_schedule == null ? [] : var.datasets", JOBS["refresh"]),
        mutant("plain.tf", '["refresh_view", "batch"]) : join(" ", pair) => { dataset = pair[0], purpose = pair[1] } }\n\n  dataset_id = local.plain_sources', '["refresh_view"]) : join(" ", pair) => { dataset = pair[0], purpose = pair[1] } }\n\n  dataset_id = local.plain_sources', f"{DATASET}.plain_source", GRANTS),
        mutant("streams.tf", 'bigquery_profile {}', 'gcs_profile { bucket = "b" }', "google_datastream_connection_profile.bigquery"),
    ),
    (
        mutant("streams.tf", "PARTITIONING_TIME_GRANULARITY_DAY", "PARTITIONING_TIME_GRANULARITY_HOUR", "google_datastream_stream.stream"),
        mutant("functions.tf", 'ONEFOLD_PLAIN_DATASET  = var.plain_dataset == null ? "" : var.plain_dataset', 'ONEFOLD_PLAIN_DATASET  = "{dataset}"', FUNCTION),
        mutant("plain.tf", "role       = each.value.purpose == \"batch\" ? google_project_iam_custom_role.plain_source[0].name : google_project_iam_custom_role.source.name", "role       = google_project_iam_custom_role.plain_source[0].name", f"{DATASET}.plain_source", GRANTS),
        mutant("plain.tf", '? ["onefold_tmp_", "onefold_leaf_"] :', '? [""] :', f"{DATASET}.plain_staging"),
    ),
    (
        # Each right on what streams write, and on what is written beside it.
        mutant("streams.tf", '"roles/secretmanager.secretAccessor"', '"roles/secretmanager.admin"', "google_secret_manager_secret_iam_member.stream"),
        mutant("plain.tf", 'custom_role.source.name\n  member     = "serviceAccount:${local.accounts[each.value.purpose]}"', 'custom_role.source.name\n  member     = "allAuthenticatedUsers"', f"{DATASET}.plain_source", GRANTS),
        mutant("plain.tf", 'local.accounts[each.value.role == "views" ? "refresh_view" : "batch"]', 'local.accounts["batch"]', f"{DATASET}.plain"),
        mutant("plain.tf", "google_project_iam_custom_role.staging.name", "google_project_iam_custom_role.batch.name", f"{DATASET}.plain_staging"),
        mutant("plain.tf", 'special_group = "projectOwners"\n  }\n\n  lifecycle', 'special_group = "projectReaders"\n  }\n\n  lifecycle', "google_bigquery_dataset.plain"),
        mutant("plain.tf", "dataset_id = google_bigquery_dataset.plain[each.key].dataset_id", "dataset_id = local.plain_sources[each.key]", "google_bigquery_dataset_access.plain"),
    ),
    (
        # Conditions and places of rights.
        mutant("modules/folder_rights/main.tf", "/objects/${condition.value}/", "/objects/${condition.value}", *FOLDERS),
        mutant("events.tf", '"resource.name.startsWith(\\"projects/_/buckets/${local.events_bucket}/objects/${condition.value}\\")"', '"true"', f"{MEMBER}.events"),
        mutant("events.tf", "named[var.events.dataset]", 'named["shop"]', f"{DATASET}.events", GRANTS),
        mutant("pulls.tf", "/objects/${folder}/${each.key}/", "/objects/${folder}/", f"{MEMBER}.pull"),
        mutant("pulls.tf", "module.pull_staging.names[each.key]\n  role ", 'module.buckets.names["staging"]\n  role ', f"{MEMBER}.pull_staging"),
        mutant("pulls.tf", "format(local.staging_only, module.pull_staging.names[each.key])", 'format(local.staging_only, module.buckets.names["staging"])', "google_project_iam_member.pull_worker"),
        mutant("pulls.tf", '["storage.buckets.get", "storage.objects.list"]', '["storage.buckets.get", "storage.objects.list", "storage.objects.get"]', "google_project_iam_custom_role.pull_bucket"),
        mutant("buckets.tf", 'account = "load_shredded" }', 'account = "batch" }', f"{MEMBER}.names"),
        mutant("access.tf", '["iam.roles.get", "resourcemanager.projects.getIamPolicy"]', '["iam.roles.get", "resourcemanager.projects.setIamPolicy"]', "google_project_iam_custom_role.access_bypasses"),
        mutant("access.tf", "role    = google_project_iam_custom_role.access_bypasses[0].name", 'role    = "roles/editor"', "google_project_iam_member.access_bypasses"),
        # Who may use datasets of views.
        mutant("clean_views.tf", 'special_group = "projectOwners"\n  }\n\n  # The rights', 'special_group = "allAuthenticatedUsers"\n  }\n\n  # The rights', "google_bigquery_dataset.clean"),
        mutant("pulls.tf", 'special_group = "projectOwners"', 'special_group = "projectReaders"', "google_bigquery_dataset.full"),
        # What waits, and how long.
        mutant("topics.tf", 'ttl = "" #', 'ttl = "2678400s" #', "google_pubsub_subscription.dead_letter"),
        mutant("triggers.tf", "    max_delivery_attempts = 100\n", "    max_delivery_attempts = 5\n", "google_pubsub_subscription.push"),
        mutant("events.tf", '["OBJECT_FINALIZE"]', '["OBJECT_DELETE"]', "google_storage_notification.events"),
        # Sizes.
        mutant("functions.tf", "concurrency = 4\n      instances   = var.sink_instances", "concurrency = 400\n      instances   = var.sink_instances", FUNCTION),
        mutant("captures.tf", "initial_delay_seconds = 120", "initial_delay_seconds = 1", "google_cloud_run_v2_worker_pool.capture"),
        mutant("network.tf", "source_ranges = [var.subnetwork_range]", 'source_ranges = ["0.0.0.0/0"]', "google_compute_firewall.batches"),
        mutant("network.tf", "private_ip_google_access = true", "private_ip_google_access = false", "google_compute_subnetwork.batches"),
        # Lifecycles.
        mutant("pulls.tf", ', delete_prefix = "json/"', ', delete_prefix = "schemas/"', TEMPORARY[0]),
        mutant("pulls.tf", "delete_days = var.staging_days", "delete_days = 365", TEMPORARY[1]),
        mutant("functions.tf", "keep_count = 5", "keep_count = 1", "google_artifact_registry_repository.images"),
        # Digests.
        mutant("functions.tf", 'name   = "functions/${filesha256("${local.package}/functions.zip")}.zip"', 'name   = "functions/latest.zip"', f"{OBJECTS}_object.functions"),
        # Schedules.
        mutant("pulls.tf", "schedule    = schedule", "schedule    = var.pull_schedule", JOBS["pull"]),
        mutant("pulls.tf", 'job = "check"', 'job = "pull"', JOBS["check"]),
        mutant("shreds.tf", 'job = "shred"', 'job = "reconcile"', JOBS["shred"]),
        # Alerts.
        mutant("pulls.tf", 'duration                  = "300s"', 'duration                  = "86400s"', f"{ALERT}.late_pulls"),
        mutant("pulls.tf", 'AND jsonPayload.severity=\\"INFO\\"', 'AND jsonPayload.severity=\\"ERROR\\"', f"{METRIC}.pulled"),
        mutant("pulls.tf", "(check_failed|table_unchecked|database_not_checked)$", "(check_failed|table_unchecked)$", f"{ALERT}.log"),
        mutant("alerts.tf", 'type         = "email"', 'type         = "sms"', "google_monitoring_notification_channel.email"),
        mutant("dashboard.tf", "growth_factor      = 2", "growth_factor      = 20", f"{METRIC}.latency"),
        mutant("dashboard.json.tftpl", "columns", "Columns", "google_monitoring_dashboard.onefold"),
        # What a plan does not know yet: addresses, ids, and what has to be there first although nothing refers to it.
        mutant("triggers.tf", "  depends_on = [google_pubsub_subscription.push]\n", "", "google_service_account_iam_member.push", "google_pubsub_topic_iam_member.dead_letter"),
        mutant("captures.tf", "    google_bigquery_dataset_iam_member.capture[each.key].id,\n", "", "terraform_data.capture_rights"),
        mutant("functions.tf", "    google_storage_bucket_iam_member.build.id,\n", "", "terraform_data.build_rights"),
        mutant("captures_alerts.tf", "  notification_channels = local.channels\n", "", f"{ALERT}.silent_capture"),
    ),
    (
        mutant("modules/folder_rights/main.tf", '"resource.name == \\"projects/_/buckets/${each.value.bucket}/objects/', '"resource.name != \\"projects/_/buckets/${each.value.bucket}/objects/', *FOLDERS),
        mutant("events.tf", "condition.value}\\\")\"", "condition.value}\\\") || true\"", f"{MEMBER}.events"),
        mutant("pulls.tf", _WIDE, '"${local.is_table}"', f"{DATASET}.full_leaves", GRANTS),
        mutant("pulls.tf", "${local.is_table} && ${local.is_temporary[each.value.dataset]}", "${local.is_table} || ${local.is_temporary[each.value.dataset]}", f"{DATASET}.pull_staging"),
        mutant("clean_views.tf", "    ignore_changes = [access]\n", "    ignore_changes = [labels]\n", "google_bigquery_dataset.clean"),
        mutant("pulls.tf", "    ignore_changes = [access]\n", "", "google_bigquery_dataset.full"),
        mutant("triggers.tf", 'ttl = "" #', 'ttl = "86400s" #', "google_pubsub_subscription.push"),
        mutant("topics.tf", "message_retention_duration = local.week\n  ack", 'message_retention_duration = "600s"\n  ack', "google_pubsub_subscription.dead_letter"),
        mutant("functions.tf", 'memory      = "1Gi"\n      concurrency = 4\n      instances   = var.sink_instances', 'memory      = "128Mi"\n      concurrency = 4\n      instances   = var.sink_instances', FUNCTION),
        mutant("pulls.tf", '"/[^A-Za-z0-9]/", "_")}{monitored', '"/[^A-Za-z0-9]/", "-")}{monitored', f"{ALERT}.late_pulls"),
        mutant("alerts.tf", 'period = "3600s"', 'period = "86400s"', f"{ALERT}.log"),
        mutant("alerts.tf", 'per_series_aligner = "ALIGN_MAX"', 'per_series_aligner = "ALIGN_MIN"', f"{ALERT}.waiting"),
        mutant("pulls.tf", 'onefold-check-${replace(key, " ", "-")}', 'onefold-check-${shard.arguments.source}', JOBS["check"]),
        mutant("schedules.tf", "substr(sha256(key), 0, 12)", 'substr(sha256("key"), 0, 12)', JOBS["batch"]),
        mutant("schedules.tf", 'merge({ job = "reconcile", dataset = dataset }', 'merge({ job = "compare", dataset = dataset }', JOBS["merge"]),
        mutant("pulls.tf", "merge(shard.arguments, shard.files, { window = window })", 'merge(shard.arguments, shard.files, { window = "full" })', JOBS["pull"]),
        mutant("modules/audit_filter/main.tf", '"(${join("|", datasets)})" }', '"[^/]+" }', "google_logging_project_sink.tables"),
    ),
    (
        mutant("triggers.tf", '  dead_letter_policy {\n    dead_letter_topic     = google_pubsub_topic.topic["dead-letter"].id\n    max_delivery_attempts = 100\n  }\n', "", "google_pubsub_subscription.push"),
        mutant("pulls.tf", '    title       = "temporary tables only"\n    description = "Temporary tables of loads, onefold_tmp_…"\n    expression  = "${local.is_table} && ${local.is_temporary[each.value.dataset]}"', '    title       = "temporary tables only"\n    description = "Temporary tables of loads, onefold_tmp_…"\n    expression  = "true"', f"{DATASET}.pull_staging", GRANTS),
        mutant("batches.tf", "substr(local.spark_digest, 0, 16)", '"latest"', f"{OBJECTS}_object.spark", FUNCTION),
        mutant("pulls.tf", "var.late_pull_minutes}m", "var.late_pull_minutes}s", f"{ALERT}.late_pulls"),
        mutant("shreds.tf", 'batch_id=~\\"^onefold-shred-', 'batch_id=~\\"^onefold-', f"{ALERT}.log"),
    ),
    (
        mutant("pulls.tf", ">= 1) or vector(0))", ">= 1))", f"{ALERT}.late_pulls"),
        mutant("registry.tf", "${local.registry_key_path}/keys.json", "https://example.com/keys.json?key=${local.registry_key_path}", FUNCTION),
        mutant("modules/schedules/main.tf", "  time_zone   = var.time_zone\n", "", *JOBS.values()),
        mutant("modules/buckets/main.tf", 'public_access_prevention    = "enforced"\n  force_destroy               = true', 'public_access_prevention    = "inherited"\n  force_destroy               = true', *TEMPORARY),
    ),
    (
        mutant("functions.tf", "    docker_repository = google_artifact_registry_repository.images.id\n", "", FUNCTION),
        mutant("modules/buckets/main.tf", 'uniform_bucket_level_access = true\n  public_access_prevention    = "enforced"\n  force_destroy               = false', 'uniform_bucket_level_access = false\n  public_access_prevention    = "enforced"\n  force_destroy               = false', f"module.buckets.{OBJECTS}.kept"),
    ),
    (mutant("registry.tf", 'ONEFOLD_REGISTRY            = "gs://${local.registry_name}"', 'ONEFOLD_REGISTRY            = "https://user:key@example.com/${local.registry_name}"', FUNCTION, JOBS["shred"], FOLDERS[1], f"{MEMBER}.names"),),
)  # fmt: skip
