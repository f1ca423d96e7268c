"""The checks that metadata alone answer: no row is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from onefold.core.names import quote
from onefold.core.text import shown_list, size_text
from onefold.existing.audit.finding import AuditFinding
from onefold.existing.discover import Discovered
from onefold.existing.table import ROW
from onefold.schema.diff import Severity

BEHIND, STOPPED = timedelta(days=1), timedelta(days=7)
"""After this time without a write, while the tool wrote another table of the dataset, a table is behind, or has stopped."""
LARGE = 1_000_000_000
"""The bytes from which reading a whole table for each merge is a warning."""


def metadata_findings(found: Iterable[Discovered]) -> Iterator[AuditFinding]:
    """Yield what metadata tell about the tables of a dataset.

    Args:
        found: all tables of the dataset that are asked for.
    """
    tables = [one for one in found if one.found.rows != "own"]
    newest = _newest_writes(tables)
    for one in tables:
        yield from _no_key(one)
        yield from _variants(one)
        yield from _reads_everything(one)
        yield from _behind(one, newest.get(one.found.tool))


def _no_key(one: Discovered) -> Iterator[AuditFinding]:
    if not one.found.key:
        yield AuditFinding(
            one.id, "no key", Severity.WARNING, "nothing tells which columns identify a row, so no check is by key",
            f"declare it in onefold.yaml, `tables: {{{one.id.dataset}.{one.id.table}: {{keys: [COLUMN]}}}}`, or in BigQuery",
        )  # fmt: skip


def _variants(one: Discovered) -> Iterator[AuditFinding]:
    for column, others in one.found.variants.items():
        present = " OR ".join(f"{ROW}.{quote(name)} IS NOT NULL" for name in others)
        shown = ", ".join(f"{ROW}.{quote(name)}" for name in (column, *others))
        yield AuditFinding(
            one.id, "variants", Severity.WARNING,
            f"values of {column} are also in {shown_list(others)}: a query of {column} alone does not see them",
            "the query of `onefold discover --json` joins them again, by their least common type",
            f"SELECT {shown}\nFROM {one.id.quoted} AS {ROW}\nWHERE {present}\nLIMIT 10",
        )  # fmt: skip


def _reads_everything(one: Discovered) -> Iterator[AuditFinding]:
    if one.found.rows != "history" or one.table.partition or one.found.active:
        return
    size = one.table.size
    text = "no partition: a MERGE of what is new, and each query of the latest rows, reads the whole history"
    yield AuditFinding(
        one.id, "reads everything", Severity.WARNING if size and size >= LARGE else Severity.INFO,
        text if size is None else f"{text}, {size_text(size)} now",
        "partition the table by the time of ingestion where its tool can; Onefold merges of Datastream's tables what is new",
    )  # fmt: skip


def _behind(one: Discovered, newest: datetime | None) -> Iterator[AuditFinding]:
    written = one.table.written_at
    if written is None or newest is None or newest - written < BEHIND:
        return
    has_stopped = newest - written >= STOPPED
    days = (newest - written).days
    yield AuditFinding(
        one.id, "stopped" if has_stopped else "behind", Severity.WARNING if has_stopped else Severity.INFO,
        f"last written {written:%Y-%m-%d %H:%M} UTC, {days} days before the table that {one.found.tool} wrote last",
        "look at the tool whether it still replicates the table, or whether the source has no changes",
    )  # fmt: skip


def _newest_writes(tables: Iterable[Discovered]) -> dict[str, datetime]:
    found: dict[str, datetime] = {}
    for one in tables:
        if one.table.written_at and one.found.tool != "plain":
            found[one.found.tool] = max(one.table.written_at, found.get(one.found.tool, one.table.written_at))
    return found
