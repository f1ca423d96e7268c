"""Mutations of infra/: each is one change of a file, with the places where `infra_expected.differences` has to see it."""
# ruff: noqa: E501

from __future__ import annotations

from dataclasses import dataclass

import infra_expected as expected


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
# Two mutants of one group touch different places, so that one plan shows them all.
GROUPS: tuple[tuple[Mutant, ...], ...] = (
    (
        mutant("accounts.tf", '"dataproc.batches.list"]', '"dataproc.batches.list", "dataproc.batches.setIamPolicy"]', "role launch"),
        mutant("datasets.tf", '["bigquery.tables.get", "bigquery.tables.updateData"]', '["bigquery.tables.get", "bigquery.tables.updateData", "bigquery.tables.getData"]', "role sink"),
        mutant("datasets.tf", 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.create"])', 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.updateData"])', "role capture"),
        mutant("datasets.tf", 'concat(local.metadata_permissions, ["bigquery.tables.getData"])', 'concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.setIamPolicy"])', "role source"),
        mutant("datasets.tf", '["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update"],', '["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update", "bigquery.tables.delete"],', "role views"),
        mutant("datasets.tf", '"bigquery.tables.update", "bigquery.tables.updateData"]', '"bigquery.tables.update"]', "role batch"),
        mutant("datasets.tf", 'permissions = ["bigquery.tables.delete"]', 'permissions = ["bigquery.tables.delete", "bigquery.tables.deleteSnapshot"]', "role staging"),
        mutant("datasets.tf", '"${local.is_table} && ${local.is_leaf[each.value]}"', '"true"', *(f"condition google_bigquery_dataset_iam_member.leaves{name}" for name in SHOP_AND_CRM)),
        mutant("datasets.tf", "/onefold_tmp_", "/onefold_", *(f"condition google_bigquery_dataset_iam_member.staging{name}" for name in SHOP_AND_CRM)),
        mutant("accounts.tf", '${google_storage_bucket.staging.name}/\\")"', '${google_storage_bucket.staging.name}\\")"', "condition google_project_iam_member.worker"),
        mutant("accounts.tf", 'startsWith(\\"${local.function_sources}/\\")', 'startsWith(\\"${local.function_sources}\\")', 'condition google_project_iam_member.build["source"]'),
        mutant("buckets.tf", "/objects/spark/", "/objects/", "condition google_storage_bucket_iam_member.batch_code"),
        mutant("buckets.tf", "/objects/${condition.value}/", "/objects/${condition.value}", f"condition {expected.DAILY}"),
        mutant("buckets.tf", '"resource.name.startsWith(\\"projects/_/buckets/${google_storage_bucket.capture.name}/objects/${local.large_records_folder}/\\")"', '"true"', "condition google_storage_bucket_iam_member.sink_records"),
        mutant("triggers.tf", '      "protoPayload.metadata.tableDeletion:*",\n', "", f"filter {expected.SINK}"),
        mutant("triggers.tf", "      audience              = local.endpoints[each.key]\n", "", "audience"),
        mutant("alerts.tf", 'jsonPayload.changes_severity=\\"CRITICAL\\"', 'jsonPayload.changes_severity=\\"WARNING\\"', f'{ALERT}["breaking schema change"]'),
        mutant("alerts.tf", '    "operation.last=true",\n', "", f'{ALERT}["batch failed"]', 'filter google_logging_metric.count["failed_batches"]'),
        mutant("alerts.tf", "severity>=ERROR AND NOT", "severity>=CRITICAL AND NOT", f'{ALERT}["function errors"]', 'filter google_logging_metric.count["errors"]'),
        mutant("alerts.tf", ' OR jsonPayload.event=\\"table_dropped\\"', "", f'{ALERT}["table emptied at the source"]'),
        mutant("alerts.tf", " OR textPayload=~", " AND textPayload=~", f'{ALERT}["comparison found differences"]'),
        mutant("alerts.tf", "threshold_value = 3600", "threshold_value = 36000", "threshold waiting_rows"),
        mutant("alerts.tf", "threshold_value = 0", "threshold_value = 100", "threshold dead_letters"),
        mutant("dashboard.tf", " AND jsonPayload.created=true", "", 'filter google_logging_metric.count["batches"]'),
        mutant("functions.tf", "    google_project_iam_member.build,\n", "", "order google_cloudfunctions2_function.function"),
        mutant("topics.tf", '["change-records", "dead-letter"]', '["change-records"]', "region dead-letter"),
        mutant("topics.tf", "  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]\n", "", "order google_pubsub_topic.topic"),
        mutant("datasets.tf", "    google_bigquery_dataset_iam_member.staging,\n", "", "order google_bigquery_dataset_access.views"),
    ),
    (
        mutant("triggers.tf", 'local.accounts["push_${each.key}"]\n      audience', 'local.accounts["push_refresh_view"]\n      audience', "signed push"),
        mutant("datasets.tf", '"${local.is_table} && (${local.is_temporary[each.value]} || ${local.is_leaf[each.value]})"', '"${local.is_table} || ${local.is_temporary[each.value]} || ${local.is_leaf[each.value]}"', *(f"condition google_bigquery_dataset_iam_member.staging{name}" for name in SHOP_AND_CRM)),
        mutant("accounts.tf", "google_storage_bucket.staging.name", "google_storage_bucket.artifacts.name", "condition google_project_iam_member.worker"),
        mutant("buckets.tf", '.startsWith(\\"${condition.value}/\\")', '.startsWith(\\"\\")', f"condition {expected.DAILY}"),
        mutant("alerts.tf", 'comparison      = "COMPARISON_GT"\n      threshold_value = 0', 'comparison      = "COMPARISON_LT"\n      threshold_value = 0', "threshold dead_letters"),
        mutant("alerts.tf", 'threshold_value = 3600\n      duration        = "300s"', 'threshold_value = 3600\n      duration        = "86400s"', "threshold waiting_rows"),
        mutant("triggers.tf", "_v_(?P<version>[0-9a-f]{1,64})", "(?P<version>.*)", f"filter {expected.SINK}"),
        mutant("triggers.tf", "  depends_on = [google_pubsub_subscription.push]\n", "", "order google_service_account_iam_member.push", "order google_pubsub_topic_iam_member.dead_letter"),
        mutant("alerts.tf", '(protoPayload.resourceName=~\\"/batches/onefold-\\"', '(protoPayload.resourceName=~\\"/batches/\\"', f'{ALERT}["batch failed"]', 'filter google_logging_metric.count["failed_batches"]'),
    ),
)  # fmt: skip
