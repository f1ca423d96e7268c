"""What infra/ has to say of logs and alerts for `exact.tftest.hcl`, written from docs/how-to/deploy.md.

`filters` and `thresholds` read a plan; FILTERS and THRESHOLDS are what a plan has to have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from support.infra_differences import unequal
from support.terraform import Plan


def _service(name: str) -> str:
    return f'resource.type="cloud_run_revision" AND resource.labels.service_name="{name}"'


_ERRORS = (
    f"(({_service('launch-batch')}) OR ({_service('refresh-view')})"
    f" OR ({_service('schema-registry')}) OR ({_service('sink-records')}))"
    " AND severity>=ERROR AND NOT httpRequest.status=500"
)
_FAILED = (
    'protoPayload.serviceName="dataproc.googleapis.com" AND protoPayload.methodName=~"BatchController\\.CreateBatch$"'
    ' AND (protoPayload.resourceName=~"/batches/onefold-" OR resource.labels.batch_id=~"^onefold-")'
    " AND operation.last=true AND severity>=ERROR"
)
_REFRESHED = f'{_service("refresh-view")} AND jsonPayload.event="refreshed"'
_METADATA = "protoPayload.metadata"
SINK = "google_logging_project_sink.tables"
FILTERS: Mapping[str, str] = {
    SINK: (
        f'{_METADATA}."@type"="type.googleapis.com/google.cloud.audit.BigQueryAuditMetadata" AND ('
        f"{_METADATA}.tableCreation:* OR {_METADATA}.tableDeletion:* OR {_METADATA}.tableChange.table.schemaJson:*"
        f" OR {_METADATA}.tableChange.table.schemaJsonTruncated=true) AND "
        'protoPayload.resourceName=~"^projects/my-project/datasets/(crm/tables/(.+)_v_([0-9a-f]{1,64})|shop/tables/(.+)_v_([0-9a-f]{1,64}))$"'
    ),
    'google_monitoring_alert_policy.log["function errors"]': _ERRORS,
    'google_monitoring_alert_policy.log["batch failed"]': _FAILED,
    'google_monitoring_alert_policy.log["breaking schema change"]': (
        f'{_REFRESHED} AND jsonPayload.changes_severity="CRITICAL"'
    ),
    'google_monitoring_alert_policy.log["comparison found differences"]': (
        'resource.type="cloud_dataproc_batch" AND resource.labels.batch_id=~"^onefold-compare-" AND ('
        'jsonPayload.event="differences_found" OR jsonPayload.message=~"differences_found"'
        ' OR textPayload=~"differences_found")'
    ),
    'google_monitoring_alert_policy.log["table emptied at the source"]': (
        'severity=CRITICAL AND (jsonPayload.event="table_truncated" OR jsonPayload.event="table_dropped" '
        'OR jsonPayload.event="table_renamed")'
    ),
    'google_monitoring_alert_policy.log["table in quarantine"]': 'severity=CRITICAL AND jsonPayload.event="quarantined"',
    'google_monitoring_alert_policy.log["table with another key"]': 'severity=CRITICAL AND jsonPayload.event="key_differs"',
    'google_monitoring_alert_policy.log["capture is late"]': (
        'severity=INFO AND jsonPayload.event="captured" AND jsonPayload.lag_seconds>900'
    ),
    "google_logging_metric.captured": (
        'resource.type="cloud_run_worker_pool" AND severity=INFO AND jsonPayload.event="captured"'
    ),
    'google_logging_metric.count["errors"]': _ERRORS,
    'google_logging_metric.count["failed_batches"]': _FAILED,
    'google_logging_metric.count["refreshes"]': _REFRESHED,
    "google_logging_metric.latency": _REFRESHED,
    'google_logging_metric.count["batches"]': (
        f'{_service("launch-batch")} AND jsonPayload.event="launched" AND jsonPayload.created=true'
    ),
}


def _metric(name: str, subscription: str) -> str:
    return (
        f'metric.type="pubsub.googleapis.com/subscription/{name}" AND resource.type="pubsub_subscription"'
        f' AND resource.labels.subscription_id="{subscription}"'
    )


# Filter, comparison, value, for how long, over which periods and how they are summed up.
THRESHOLDS: Mapping[str, tuple[object, ...]] = {
    'waiting["waiting_rows"]': (
        _metric("oldest_unacked_message_age", "sink-records"),
        "COMPARISON_GT",
        3600,
        "300s",
        ("300s", "ALIGN_MAX"),
    ),
    'waiting["dead_letters"]': (
        _metric("num_undelivered_messages", "dead-letter"),
        "COMPARISON_GT",
        0,
        "300s",
        ("300s", "ALIGN_MAX"),
    ),
}


def differences(plan: Plan) -> Iterator[str]:
    """Yield the filters and thresholds of a plan that differ from what is expected."""
    yield from unequal("filter", FILTERS, filters(plan))
    yield from unequal("threshold", THRESHOLDS, thresholds(plan))


def filters(plan: Plan) -> dict[str, str]:
    """The filter over log entries of every sink, metric and alert that has one, by its address."""
    logs = {
        f"{type_}.{name}": found["filter"]
        for type_ in ("google_logging_project_sink", "google_logging_metric")
        for name, found in plan.of(type_).items()
    }
    alerts = {
        f"google_monitoring_alert_policy.{name}": matched["filter"]
        for name, policy in plan.of("google_monitoring_alert_policy").items()
        for condition in policy["conditions"]
        for matched in condition["condition_matched_log"]
    }
    return {**logs, **alerts}


def thresholds(plan: Plan) -> dict[str, tuple[object, ...]]:
    return {
        name: (
            one["filter"],
            one["comparison"],
            one["threshold_value"],
            one["duration"],
            *((part["alignment_period"], part["per_series_aligner"]) for part in one["aggregations"]),
        )
        for name, policy in plan.of("google_monitoring_alert_policy").items()
        for condition in policy["conditions"]
        for one in condition["condition_threshold"]
    }
