"""Load jobs of Parquet, and columns that an update of a table adds, where `bqemulator` differs from BigQuery.

`bqemulator` loads Parquet by the position of columns and file by file, runs a job again that has a known identifier, tells
the rows of the table as those that a job wrote, and keeps new columns of `tables.patch` from queries. It ignores the
condition If-Match, which an update of a table's columns depends on.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from onefold_lab.bigquery.wire import stored_columns

if TYPE_CHECKING:
    from bqemulator.catalog.models import JobMeta, TableMeta

_locks: defaultdict[tuple[str, str], asyncio.Lock] = defaultdict(asyncio.Lock)
"""One for each job: a job that is sent twice at the same time runs once."""
_written: ContextVar[list[int] | None] = ContextVar("_written", default=None)
"""The rows of each file that the present job of `jobs.insert` has loaded; None where a file is uploaded."""


async def run_once(
    usual: Callable[..., Awaitable[JobMeta]], project_id: str, job_id: str, config: dict[str, Any], ctx: Any
) -> JobMeta:
    """Run a load job, unless the project has a job of this identifier.

    BigQuery keeps identifiers for ever (REST reference, `jobs.insert`, jobReference.jobId, 2026-11).

    Args:
        usual: the function of the server.
        project_id: the project.
        job_id: the identifier of the job.
        config: its configuration.
        ctx: the context of the server.

    Raises:
        AlreadyExistsError: there is such a job, which is answered by 409.
    """
    from bqemulator.domain.errors import AlreadyExistsError

    async with _locks[project_id, job_id]:
        if ctx.catalog.get_job(project_id, job_id) is not None:
            raise AlreadyExistsError(f"Already Exists: Job {project_id}:{job_id}")
        written: list[int] = []
        _written.set(written)
        job = await usual(project_id, job_id, config, ctx)
        if job.error_result is None:
            job = job.model_copy(update={"statistics": {"load": {"outputRows": str(sum(written))}}})
        ctx.catalog.upsert_job(job)
        return job


def load_files(usual: Callable[..., None], path: str, job: Any, ctx: Any) -> None:
    """Load a file, and count its rows; all files of Parquet at once, with the first one: by names, and all rows or none.

    Args:
        usual: the function of the server.
        path: the file.
        job: the job.
        ctx: the context of the server.
    """
    before = _count(job, ctx)
    _load(usual, path, job, ctx)
    if (written := _written.get()) is not None:
        written.append(_count(job, ctx) - before)


def _load(usual: Callable[..., None], path: str, job: Any, ctx: Any) -> None:
    from bqemulator.jobs.executor import _resolve_uri

    if job.source_format != "PARQUET":
        usual(path, job, ctx)
        return
    paths = [_resolve_uri(uri, ctx) for uri in job.source_uris]
    if path == paths[0]:
        # Folders such as model=1 are no columns, as in BigQuery, where a job has to ask for that.
        rows = "SELECT * FROM read_parquet(?, hive_partitioning = false)"
        ctx.engine.execute(f"INSERT INTO {job.target_ref} BY NAME {rows}", [paths])


def _count(job: Any, ctx: Any) -> int:
    return int(ctx.engine.execute(f"SELECT COUNT(*) FROM {job.target_ref}").fetchone()[0])


def check_unchanged(etag: str | None, table: TableMeta) -> None:
    """Check the condition of an update.

    Raises:
        PreconditionFailedError: the table has another version than the request expects, which is answered by 412.
    """
    from bqemulator.domain.errors import DomainError

    class PreconditionFailedError(DomainError):
        http_status = 412
        bq_reason = "conditionNotMet"

    if etag and etag != table.etag:
        raise PreconditionFailedError("Precondition check failed.")


def grow_columns(before: TableMeta, schema: Mapping[str, Any], ctx: Any) -> None:
    """Give a table the columns and nested fields that an update adds; columns that a statement has added already stay.

    Args:
        before: the table before the update.
        schema: the schema of the request.
        ctx: the context of the server.
    """
    from bqemulator.api.routes.tables import _field_to_rest
    from bqemulator.storage.sql_identifiers import quoted_table_ref

    old = dict(stored_columns([_field_to_rest(field) for field in before.schema_.fields]))
    table = quoted_table_ref(before.project_id, before.dataset_id, before.table_id)
    for name, type_ in stored_columns(schema.get("fields", [])):
        column = '"' + name.replace('"', '""') + '"'
        if name not in old:
            ctx.engine.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS {column} {type_}")
        elif old[name] != type_:
            ctx.engine.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {type_}")
