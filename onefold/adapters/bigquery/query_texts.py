"""The texts that read tables of a region, by three queries of its metadata and of its log of jobs."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from google.cloud import bigquery

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.bigquery.tables import BigQueryTables
from onefold.adapters.bigquery.usage import NAMES, region_schema
from onefold.core.names import LEAF_PREFIX
from onefold.ports.query_texts import MOST_REFERENCED, JobTexts, TableKey, ViewText
from onefold.ports.usage import JOB_LABEL

_SALT_BYTES = 32


class BigQueryTexts(BigQueryTables):
    """`onefold.ports.query_texts.QueryTexts` over INFORMATION_SCHEMA."""

    def location_of(self, dataset: str) -> str:
        """Return the location of a dataset, such as `EU`."""
        with translated(f"dataset {self.project}.{dataset}"):
            return str(self._call(self._client.get_dataset, f"{self.project}.{dataset}").location)

    def list_view_texts(self, dataset: str) -> Sequence[ViewText]:
        location = self.location_of(dataset)
        rows = self._texts(location, views_query(self.project, location), "the views")
        return tuple(ViewText((row["dataset"], row["name"]), row["text"], row["own"]) for row in rows)

    def list_job_texts(self, dataset: str, datasets: Collection[str], days: int) -> Sequence[JobTexts]:
        location = self.location_of(dataset)
        # Not a part of the text: the log of jobs has the texts of queries, and no values of their parameters.
        salt = bigquery.ScalarQueryParameter("salt", "STRING", secrets.token_hex(_SALT_BYTES))
        named = bigquery.ArrayQueryParameter("datasets", "STRING", sorted(datasets))
        rows = self._texts(location, job_texts_query(self.project, location, days), "the log of jobs", salt, named)
        return tuple(
            JobTexts(
                row["kind"], row["text"], frozenset(row["readers"].split(NAMES)), row["jobs"], row["incomplete"],
                row["last_at"], frozenset(_table(name) for name in (row["referenced"] or "").split(NAMES) if name),
            )
            for row in rows
        )  # fmt: skip

    def list_column_names(self, dataset: str, words: Collection[str]) -> Mapping[TableKey, tuple[str, ...]]:
        location = self.location_of(dataset)
        names = bigquery.ArrayQueryParameter("names", "STRING", sorted(word for word in words if not word.endswith("*")))
        beginnings = sorted(word[:-1] for word in words if word.endswith("*"))
        prefixes = bigquery.ArrayQueryParameter("prefixes", "STRING", beginnings)
        rows = self._texts(location, columns_query(self.project, location), "the columns", names, prefixes)
        return {(row["dataset"], row["name"]): tuple(row["columns"].split(NAMES)) for row in rows}

    def _texts(self, location: str, query: str, what: str, *parameters: Any) -> list[dict[str, Any]]:
        with translated(f"{what} of {self.project} in {location}"):
            config = bigquery.QueryJobConfig(query_parameters=parameters, labels={JOB_LABEL: "readers"})
            job = self._call(self._client.query, query, location=location, job_config=config)
            return [dict(row.items()) for row in job.result()]


def views_query(project: str, location: str) -> str:
    """Return the query for all views of a region, and whether Onefold wrote them: their labels say so.

    https://cloud.google.com/bigquery/docs/information-schema-views and information-schema-table-options, 2026-11.
    """
    region = region_schema(project, location)
    return (
        "SELECT v.table_schema AS `dataset`, v.table_name AS name, v.view_definition AS text, "
        f"STARTS_WITH(v.table_name, '{LEAF_PREFIX}') OR IFNULL(REGEXP_CONTAINS(o.option_value, "
        "r'STRUCT\\(\"onefold_(rules|table)\"'), FALSE) AS own\n"
        f"FROM {region}.VIEWS AS v LEFT JOIN {region}.TABLE_OPTIONS AS o\n"
        "ON o.table_schema = v.table_schema AND o.table_name = v.table_name AND o.option_name = 'labels'\n"
        "WHERE v.use_standard_sql = 'YES'"
    )


def job_texts_query(project: str, location: str, days: int) -> str:
    """Return the query for the texts of jobs, with `@datasets` and `@salt`: addresses of people never leave it.

    Texts that differ in their literals only are one row. Of a result from the cache BigQuery lists no tables. Looker Studio
    labels its jobs, and so do scheduled queries (https://cloud.google.com/bigquery/docs/information-schema-jobs,
    https://cloud.google.com/looker/docs/studio/monitor-usage-in-bigquery,
    https://cloud.google.com/bigquery/docs/scheduling-queries, 2026-11).
    """
    name = "CONCAT(r.dataset_id, '.', r.table_id)"
    label = "(SELECT ANY_VALUE(l.value) FROM UNNEST(j.labels) AS l WHERE l.key = '{}')"
    report = label.format("looker_studio_report_id")
    return (
        "SELECT j.kind, ANY_VALUE(j.text) AS text, STRING_AGG(DISTINCT j.reader, '`') AS readers, COUNT(*) AS jobs, "
        f"COUNTIF(j.listed >= {MOST_REFERENCED}) AS incomplete, MAX(j.ran) AS last_at, "
        "MAX(j.referenced) AS referenced\nFROM (\n"
        "  SELECT j.query AS text, j.creation_time AS ran, "
        "IFNULL(j.query_info.query_hashes.normalized_literals, TO_HEX(MD5(j.query))) AS form, "
        f"CASE WHEN {report} IS NOT NULL OR {label.format('requestor')} = 'looker_studio' THEN 'dashboard' "
        "WHEN ENDS_WITH(j.user_email, 'gserviceaccount.com') THEN 'service account' ELSE 'person' END AS kind, "
        f"TO_HEX(SHA256(CONCAT(@salt, IFNULL({report}, j.user_email)))) AS reader, "
        "IFNULL(ARRAY_LENGTH(j.referenced_tables), 0) AS listed, "
        f"(SELECT STRING_AGG(DISTINCT {name}, '{NAMES}' ORDER BY {name}) FROM UNNEST(j.referenced_tables) AS r "
        "WHERE r.project_id = j.project_id) AS referenced\n"
        f"  FROM {region_schema(project, location)}.JOBS_BY_PROJECT AS j\n"
        f"  WHERE j.creation_time >= TIMESTAMP_SUB(CURRENT_TIMESTAMP(), INTERVAL {days} DAY) AND j.job_type = 'QUERY'\n"
        "    AND j.state = 'DONE' AND j.error_result IS NULL AND j.query IS NOT NULL\n"
        "    AND IFNULL(j.statement_type, '') != 'SCRIPT'\n"
        f"    AND NOT EXISTS (SELECT 1 FROM UNNEST(j.labels) AS l WHERE l.key = '{JOB_LABEL}' OR "
        "(l.key = 'data_source_id' AND l.value = 'scheduled_query'))\n"
        f"    AND (j.cache_hit OR ARRAY_LENGTH(j.referenced_tables) >= {MOST_REFERENCED}\n"
        "      OR EXISTS (SELECT 1 FROM UNNEST(j.referenced_tables) AS r WHERE r.dataset_id IN UNNEST(@datasets)))\n"
        ") AS j\nGROUP BY j.kind, j.form"
    )


def columns_query(project: str, location: str) -> str:
    """Return the query for the columns of tables, with `@names` and `@prefixes`.

    https://cloud.google.com/bigquery/docs/information-schema-columns, 2026-11.
    """
    return (
        f"SELECT c.table_schema AS `dataset`, c.table_name AS name, STRING_AGG(c.column_name, '{NAMES}' "
        f"ORDER BY c.ordinal_position) AS `columns`\nFROM {region_schema(project, location)}.COLUMNS AS c\n"
        "WHERE c.is_hidden = 'NO' AND (c.table_name IN UNNEST(@names)\n"
        "  OR EXISTS (SELECT 1 FROM UNNEST(@prefixes) AS p WHERE STARTS_WITH(c.table_name, p)))\n"
        "GROUP BY c.table_schema, c.table_name"
    )


def _table(name: str) -> TableKey:
    dataset, _, table = name.partition(".")
    return dataset, table
