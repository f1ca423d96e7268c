"""Mutations of infra/: each is one change of a file, with the places where `infra_expected.differences` has to see it."""
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from support import infra_expected as expected
from support import infra_expected_access as expected_access
from support import infra_expected_monitoring as expected_monitoring
from support import infra_expected_services as expected_services
from support.infra_expected_captures import POOLS, QUERIES, SOURCES


@dataclass(frozen=True)
class Mutant:
    file: str
    old: str
    new: str
    seen: frozenset[str]


def mutant(file: str, old: str, new: str, *seen: str) -> Mutant:
    return Mutant(file, old, new, frozenset(seen))


SHOP_AND_CRM = ('["shop"]', '["crm"]')
ALERT = "filter google_monitoring_alert_policy.log"
BUCKET, REPOSITORY = "google_storage_bucket_iam_member", "google_artifact_registry_repository_iam_member"


def everywhere(kind: str, names: Iterable[str], rest: str = "") -> tuple[str, ...]:
    """Return the same attribute of each of these resources."""
    return tuple(f"{kind} {name}{rest}" for name in names)


def of_sources(resource: str, *suffixes: str) -> tuple[str, ...]:
    """A grant of every source."""
    return tuple(f'grant {resource}["{name}{suffix}"]' for name in SOURCES for suffix in suffixes or ("",))


# Two mutants of one group touch different places, so that one plan shows them all.
GROUPS: tuple[tuple[Mutant, ...], ...] = (
    (
        mutant("accounts.tf", '"dataproc.batches.list"]', '"dataproc.batches.list", "dataproc.batches.setIamPolicy"]', "role launch"),
        mutant("datasets.tf", '["bigquery.tables.get", "bigquery.tables.updateData"]', '["bigquery.tables.get", "bigquery.tables.updateData", "bigquery.tables.getData"]', "role sink"),
        mutant("captures.tf", 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.create"])', 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.updateData"])', "role capture"),
        mutant("datasets.tf", 'concat(local.metadata_permissions, ["bigquery.tables.getData"])', 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.setIamPolicy"])', "role source"),
        mutant("datasets.tf", '["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update"],', '["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update", "bigquery.tables.delete"],', "role views"),
        mutant("datasets.tf", '"bigquery.tables.update", "bigquery.tables.updateData"]', '"bigquery.tables.update"]', "role batch"),
        mutant("datasets.tf", 'permissions = ["bigquery.tables.delete"]', 'permissions = ["bigquery.tables.delete", "bigquery.tables.deleteSnapshot"]', "role staging"),
        mutant("datasets.tf", '"${local.is_table} && ${local.is_leaf[each.value]}"', '"true"', *(f"condition google_bigquery_dataset_iam_member.leaves{name}" for name in SHOP_AND_CRM)),
        mutant("datasets.tf", "/onefold_tmp_", "/onefold_", *(f"condition google_bigquery_dataset_iam_member.staging{name}" for name in SHOP_AND_CRM)),
        mutant("accounts.tf", '/buckets/%[1]s/\\")"', '/buckets/%[1]s\\")"', "condition google_project_iam_member.worker"),
        mutant("accounts.tf", 'startsWith(\\"${local.function_sources}/\\")', 'startsWith(\\"${local.function_sources}\\")', 'condition google_project_iam_member.build["source"]'),
        mutant("buckets.tf", "/objects/spark/", "/objects/", "condition google_storage_bucket_iam_member.batch_code"),
        mutant("modules/folder_rights/main.tf", "/objects/${condition.value}/", "/objects/${condition.value}", f"condition {expected.DAILY}"),
        mutant("buckets.tf", '"resource.name.startsWith(\\"projects/_/buckets/${module.buckets.names["capture"]}/objects/${local.large_records_folder}/\\")"', '"true"', "condition google_storage_bucket_iam_member.sink_records"),
        mutant("triggers.tf", '      "protoPayload.metadata.tableDeletion:*",\n', "", f"filter {expected_monitoring.SINK}"),
        mutant("triggers.tf", "      audience              = local.endpoints[each.key]\n", "", "audience"),
        mutant("alerts.tf", 'jsonPayload.changes_severity=\\"CRITICAL\\"', 'jsonPayload.changes_severity=\\"WARNING\\"', f'{ALERT}["breaking schema change"]'),
        mutant("alerts.tf", '    "operation.last=true",\n', "", f'{ALERT}["batch failed"]', 'filter google_logging_metric.count["failed_batches"]'),
        mutant("alerts.tf", "severity>=ERROR AND NOT", "severity>=CRITICAL AND NOT", f'{ALERT}["function errors"]', 'filter google_logging_metric.count["errors"]'),
        mutant("alerts.tf", ' OR jsonPayload.event=\\"table_dropped\\"', "", f'{ALERT}["table emptied at the source"]'),
        mutant("alerts.tf", " OR textPayload=~", " AND textPayload=~", f'{ALERT}["comparison found differences"]'),
        mutant("alerts.tf", "more_than    = 3600", "more_than    = 36000", 'threshold waiting["waiting_rows"]'),
        mutant("alerts.tf", "more_than    = 0", "more_than    = 100", 'threshold waiting["dead_letters"]'),
        mutant("dashboard.tf", " AND jsonPayload.created=true", "", 'filter google_logging_metric.count["batches"]'),
        mutant("functions.tf", "    google_project_iam_member.build,\n", "", "order google_cloudfunctions2_function.function"),
        mutant("topics.tf", '["change-records", "dead-letter"]', '["change-records"]', "region dead-letter"),
        mutant("topics.tf", "  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]\n", "", "order google_pubsub_topic.topic"),
        mutant("datasets.tf", "    google_bigquery_dataset_iam_member.staging,\n", "", "order google_bigquery_dataset_access.views"),
    ),
    (
        mutant("triggers.tf", 'local.accounts["push_${each.key}"]\n      audience', 'local.accounts["push_refresh_view"]\n      audience', "signed push"),
        mutant("datasets.tf", '"${local.is_table} && (${local.is_temporary[each.value]} || ${local.is_leaf[each.value]})"', '"${local.is_table} || ${local.is_temporary[each.value]} || ${local.is_leaf[each.value]}"', *(f"condition google_bigquery_dataset_iam_member.staging{name}" for name in SHOP_AND_CRM)),
        mutant("accounts.tf", 'module.buckets.names["staging"]', 'module.buckets.names["artifacts"]', "condition google_project_iam_member.worker"),
        mutant("modules/folder_rights/main.tf", '"resource.name == \\"projects/_/buckets/${each.value.bucket}/objects/', '"resource.name != \\"projects/_/buckets/${each.value.bucket}/objects/', f"condition {expected.DAILY}"),
        mutant("alerts.tf", 'comparison      = "COMPARISON_GT"', 'comparison      = "COMPARISON_LT"', 'threshold waiting["waiting_rows"]', 'threshold waiting["dead_letters"]'),
        mutant("triggers.tf", "_v_(?P<version>[0-9a-f]{1,64})", "_v_(?P<version>[0-9a-z_]{1,64})", f"filter {expected_monitoring.SINK}"),
        mutant("triggers.tf", "  depends_on = [google_pubsub_subscription.push]\n", "", "order google_service_account_iam_member.push", "order google_pubsub_topic_iam_member.dead_letter"),
        mutant("alerts.tf", '(protoPayload.resourceName=~\\"/batches/onefold-\\"', '(protoPayload.resourceName=~\\"/batches/\\"', f'{ALERT}["batch failed"]', 'filter google_logging_metric.count["failed_batches"]'),
    ),
    (
        mutant("captures.tf", '"storage.objects.delete", "storage.objects.get"]', '"storage.objects.delete", "storage.objects.get", "storage.objects.setIamPolicy"]', "role capture_objects"),
        mutant("captures.tf", 'permissions = ["storage.objects.list"]', 'permissions = ["storage.objects.list", "storage.objects.get"]', "role capture_names"),
        mutant("captures.tf", "/objects/${folder}/", "/objects/${folder}", *everywhere("condition", (f'{BUCKET}.capture["{name}"]' for name in SOURCES))),
        mutant("captures.tf", '"logging.logWriter"]', '"logging.logWriter", "logging.viewer"]', *of_sources("google_project_iam_member.capture", " logging.viewer")),
        mutant("captures.tf", '"table-created", "schema-changes"]', '"table-created"]', *of_sources("google_pubsub_topic_iam_member.capture", " schema-changes")),
        mutant("captures.tf", "roles/secretmanager.secretAccessor", "roles/secretmanager.admin", *(f'grant google_secret_manager_secret_iam_member.capture["{name} {secret}"]' for name, one in SOURCES.items() for secret in one.secrets)),
        mutant("captures.tf", "roles/artifactregistry.reader", "roles/artifactregistry.writer", *of_sources(f"{REPOSITORY}.capture")),
        mutant("captures.tf", 'role       = "roles/artifactregistry.writer"', 'role       = "roles/artifactregistry.admin"', f"grant {REPOSITORY}.build_capture"),
        mutant("captures.tf", "named[each.value.dataset]", 'named["shop"]', *(f'grant google_bigquery_dataset_iam_member.capture["{name}"]' for name in ("crm-db", "old-db"))),
        mutant("captures.tf", "manual_instance_count = 1", "manual_instance_count = 2", *everywhere("pool", POOLS, " scaling")),
        mutant("captures.tf", "image = var.capture_image", 'image = split("@", var.capture_image)[0]', *everywhere("pool", POOLS, " image")),
        mutant("captures.tf", "version = each.value.secret_version", 'version = "latest"', 'pool capture["crm-db"] env'),
        mutant("captures.tf", "    service_account = each.value.account\n", '    service_account = local.accounts["batch"]\n', *everywhere("pool", POOLS, " service_account")),
        mutant("captures.tf", '["snapshot", "gtid_failover", "tls_any_name"]', '["gtid_failover", "tls_any_name"]', 'pool capture["shop-db"] args'),
        mutant("captures.tf", 'mount_path = "/tls/', 'mount_path = "/run/', 'pool capture["crm-db"] volume_mounts'),
        mutant("captures.tf", 'path    = "file"', 'path    = "pem"', 'pool capture["crm-db"] volumes'),
        mutant("captures.tf", "egress = vpc_access.value.egress", 'egress = "ALL_TRAFFIC"', 'pool capture["crm-db"] vpc_access'),
        mutant("captures.tf", "deletion_protection = false", "deletion_protection = true", *everywhere("pool", POOLS, " deletion_protection")),
        mutant("captures.tf", "memory = each.value.memory", 'memory = "1Gi"', 'pool capture["crm-db"] resources'),
        mutant("captures.tf", "    google_pubsub_topic_iam_member.capture,\n", "", "order google_cloud_run_v2_worker_pool.capture"),
        mutant("captures.tf", "    google_bigquery_dataset_iam_member.capture[each.key].id,\n", "", "awaited rights"),
        mutant("captures.tf", 'command = "sleep ${var.build_wait_seconds}"', 'command = "true"', "wait for rights"),
        mutant("captures.tf", "  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]\n", "", "order google_artifact_registry_repository.capture"),
        mutant("captures_alerts.tf", "< 1", "< 0", *everywhere("query", QUERIES, " query")),
        mutant("captures_alerts.tf", '"600s"', '"86400s"', *everywhere("query", QUERIES, " duration")),
        mutant("captures_alerts.tf", "disable_metric_validation = true", "disable_metric_validation = false", *everywhere("query", QUERIES, " disable_metric_validation")),
        mutant("captures_alerts.tf", " AND severity=INFO", "", "filter google_logging_metric.captured"),
        mutant("alerts.tf", "lag_seconds>$", "seconds_since_last_change>$", f'{ALERT}["capture is late"]'),
        mutant("captures.tf", 'path = "/healthz"', 'path = "/metrics"', 'pool capture["crm-db"] liveness_probe'),
        mutant("alerts.tf", 'severity=CRITICAL AND jsonPayload.event=\\"quarantined', 'severity>=WARNING AND jsonPayload.event=\\"quarantined', f'{ALERT}["table in quarantine"]'),
        mutant("alerts.tf", 'severity=CRITICAL AND jsonPayload.event=\\"key_differs', 'severity=ERROR AND jsonPayload.event=\\"key_differs', f'{ALERT}["table with another key"]'),
    ),
    (
        mutant("captures.tf", "[each.key, each.value.records]", "[each.key, local.large_records_folder]", *everywhere("condition", (f'{BUCKET}.capture["{name}"]' for name in SOURCES))),
        mutant("captures.tf", "google_project_iam_custom_role.capture_objects.name", '"roles/storage.objectAdmin"', *of_sources(f"{BUCKET}.capture")),
        mutant("captures.tf", "google_project_iam_custom_role.capture_names.name", '"roles/storage.objectViewer"', *of_sources(f"{BUCKET}.capture_names")),
        mutant("captures.tf", "secret  = data.google_secret_manager_secret.capture[each.value.secret].secret_id", 'secret  = "all-passwords"', *everywhere("pool", POOLS, " env")),
        mutant("captures.tf", '--checkpoint=gs://${module.buckets.names["capture"]}/${name}', '--checkpoint=gs://${module.buckets.names["capture"]}/records', *everywhere("pool", POOLS, " args")),
        mutant("captures.tf", "    terraform_data.capture_rights,\n", "", "order google_cloud_run_v2_worker_pool.capture"),
        mutant("captures_alerts.tf", " or vector(0)", "", *everywhere("query", QUERIES, " query")),
        mutant("captures_alerts.tf", '"60s"', '"3600s"', *everywhere("query", QUERIES, " evaluation_interval")),
        mutant("captures_alerts.tf", 'jsonPayload.event=\\"captured', 'jsonPayload.event=\\"copied', "filter google_logging_metric.captured"),
    ),
    (
        mutant("functions.tf", 'command = "sleep ${var.build_wait_seconds}"', 'command = "true"', "wait for rights of the build"),
        mutant("functions.tf", "    google_storage_bucket_iam_member.build.id,\n", "", "awaited rights of the build"),
        mutant("functions.tf", 'service_account   = "projects/${var.project}/serviceAccounts/${local.accounts["build"]}"', 'service_account   = "projects/${var.project}/serviceAccounts/${local.accounts["batch"]}"', "build account"),
        mutant("functions.tf", "    docker_repository = google_artifact_registry_repository.images.id\n", "", "build repository"),
        mutant("functions.tf", "local.accounts[each.key]", 'local.accounts[each.key == "sink_records" ? "launch_batch" : each.key]', 'runs as function["sink_records"]'),
        mutant("buckets.tf", 'member = "serviceAccount:${local.accounts["batch"]}"\n\n  depends_on', 'member = "serviceAccount:${local.accounts["refresh_view"]}"\n\n  depends_on', *everywhere("folder", expected_services.FOLDERS)),
        mutant("buckets.tf", "old_versions_days = 30", "delete_days = 30", f"deleted {expected_services.ARTIFACTS}"),
        mutant("buckets.tf", "delete_days = var.staging_days", "delete_days = 1", f"deleted {expected_services.STAGING}"),
        mutant("buckets.tf", '      delete_prefix = "${local.large_records_folder}/"\n', "", f"deleted {expected_services.CAPTURE}"),
        mutant("alerts.tf", 'threshold_value = each.value.more_than\n      duration        = "300s"', 'threshold_value = each.value.more_than\n      duration        = "86400s"', 'threshold waiting["waiting_rows"]', 'threshold waiting["dead_letters"]'),
        mutant("triggers.tf", 'dead_letter_topic     = google_pubsub_topic.topic["dead-letter"].id', 'dead_letter_topic     = google_pubsub_topic.topic["schema-changes"].id', *everywhere("dead letters", (f'push["{name}"]' for name in expected_services.FUNCTIONS))),
        mutant("topics.tf", 'topic                      = google_pubsub_topic.topic["dead-letter"].id', 'topic                      = google_pubsub_topic.topic["schema-changes"].id', "dead letters dead_letter"),
        mutant("batches.tf", '  deletion_policy = "ABANDON"\n', "", "code spark"),
        mutant("captures.tf", 'Images of Onefold\'s capture."\n', 'Images of Onefold\'s capture."\n  cleanup_policies {\n    id     = "delete-old-ones"\n    action = "DELETE"\n  }\n', "cleanup capture"),
        mutant("topics.tf", 'each.value == "schema-changes" ? local.week : null', "null", "retention schema-changes"),
        mutant("captures_alerts.tf", "  notification_channels = local.channels\n", "", "told silent_capture"),
        mutant("alerts.tf", "  notification_channels = local.channels\n\n  conditions {\n    display_name = \"${each.value.what}", "\n  conditions {\n    display_name = \"${each.value.what}", "told waiting"),
        mutant("modules/schedules/main.tf", "  schedule    = each.value.schedule", "  paused      = true\n  schedule    = each.value.schedule", *everywhere("off", (f'module.schedules["refresh"].google_cloud_scheduler_job.schedule{name}' for name in SHOP_AND_CRM))),
        mutant("triggers.tf", "  unique_writer_identity = true\n", "  unique_writer_identity = true\n  disabled               = true\n", "off google_logging_project_sink.tables"),
        mutant("captures_alerts.tf", '  combiner              = "OR"\n', '  combiner              = "OR"\n  enabled               = false\n', *everywhere("off", (f"google_monitoring_alert_policy.{name}" for name in QUERIES))),
        mutant("captures_alerts.tf", '  name        = "${var.prefix}onefold/captured"\n', '  name        = "${var.prefix}onefold/captured"\n  disabled    = true\n', "off google_logging_metric.captured"),
    ),
    (
        mutant("access.tf", '"roles/bigquery.dataEditor"', '"roles/bigquery.dataOwner"', *everywhere("grant", (name for name in expected_access.GRANTS if "writers" in name))),
        mutant("access.tf", '    "bigquery.datasets.update",\n', '    "bigquery.datasets.update",\n    "bigquery.tables.getData",\n', "role access[0]"),
        mutant("access.tf", "/objects/${var.prefix}onefold/", "/objects/", "condition google_storage_bucket_iam_member.access[0]"),
        mutant("access.tf", "roles/storage.objectViewer", "roles/storage.objectUser", "grant google_storage_bucket_iam_member.access[0]"),
        mutant("access.tf", "roles/logging.logWriter", "roles/editor", "grant google_project_iam_member.access[0]"),
        mutant("access.tf", '"^${var.access_trigger.branch}$"', "var.access_trigger.branch", "trigger branch"),
        mutant("access.tf", "  service_account = google_service_account.access[0].id\n", "", "trigger service_account"),
        mutant("buckets.tf", '"${local.bucket_prefix}-capture"\n      kept          = true', '"${local.bucket_prefix}-capture"\n      kept          = false', *(f"{kind} {name}" for kind in ("emptied", "deleted") for name in (expected_services.CAPTURE, 'module.buckets.temporary["capture"]'))),
        mutant("datasets.tf", "    google_bigquery_dataset_iam_member.writers,\n", "", "order google_bigquery_dataset_access.views"),
    ),
    (
        mutant("modules/buckets/main.tf", "force_destroy               = false", "force_destroy               = true", "stored force_destroy", f"emptied {expected_services.REGISTRY}", f"emptied {expected_services.CAPTURE}"),
        mutant("modules/buckets/main.tf", "prevent_destroy = true", "prevent_destroy = false", "kept registry"),
        mutant("registry.tf", "ingress     = var.schema_registry_ingress", 'ingress     = "ALLOW_ALL"', "registry ingress_settings"),
        mutant("registry.tf", '"resource.name == \\"${local.registry_objects}/schemas/index.json\\""', '"resource.name.startsWith(\\"${local.registry_objects}/\\")"', f"condition {BUCKET}.registry_index[0]"),
        mutant("registry.tf", '["storage.objects.delete"]', '["storage.objects.delete", "storage.objects.setIamPolicy"]', "role registry[0]"),
        mutant("registry.tf", '"roles/storage.objectCreator"]', '"roles/storage.objectAdmin"]', f'grant {BUCKET}.registry["roles/storage.objectCreator"]', f'grant {BUCKET}.registry["roles/storage.objectAdmin"]'),
        mutant("registry.tf", "roles/secretmanager.secretAccessor", "roles/secretmanager.admin", 'grant google_secret_manager_secret_iam_member.registry["registry-keys"]'),
        mutant("functions.tf", 'version = "latest"', 'version = "1"', "registry secret_volumes"),
        mutant("registry.tf", 'ONEFOLD_REGISTRY_PUBLIC     = join(",", local.registry.public)', 'ONEFOLD_REGISTRY_PUBLIC     = "*"', "registry environment_variables"),
        mutant("functions.tf", "    google_secret_manager_secret_iam_member.registry,\n", "", "order google_cloudfunctions2_function.function"),
        mutant("registry.tf", "old_versions_days = 90", "old_versions_days = 9", f"deleted {expected_services.REGISTRY}"),
        mutant("registry.tf", "member   = each.value", 'member   = "allAuthenticatedUsers"', 'grant google_cloud_run_service_iam_member.registry["allUsers"]'),
        mutant("functions.tf", "service_account_email            = local.accounts[each.key]", 'service_account_email            = local.accounts[each.key == "schema_registry" ? "batch" : each.key]', "registry service_account_email", 'runs as function["schema_registry"]'),
    ),
)  # fmt: skip
