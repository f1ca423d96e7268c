"""The arguments of the jobs `reconcile` and `compare`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, ClassVar, Literal

from onefold.batches.declaration import Argument, JobArguments, Parallel
from onefold.batches.values import Uri, between, is_dataset, not_empty, parse_bound, parse_names
from onefold.changelog.position import HEXADECIMAL, Position

UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""The text that Debezium writes for a value that is not in the log, unless its option `unavailable.value.placeholder` names
another one.
"""

_HEX = re.compile("hex:([0-9A-Fa-f]{2})+")


@dataclass(frozen=True)
class ReconcileArguments(JobArguments):
    """Fold a change log into the latest state of each key, in a base table of BigQuery or in a new folder.

    A URI is bigquery:dataset.table (or the base name of versioned tables), or a folder of Parquet or JSON lines:
    gs://bucket/folder, file:/folder or a path.
    """

    job: ClassVar[str] = "reconcile"

    changes: Annotated[
        tuple[Uri, ...], Argument("change tables, or folders of changes", "URI", of_batch="bigquery:{dataset}.{table}")
    ]
    base: Annotated[
        Uri | None,
        Argument(
            "what the changes are merged into; one that is not there is an empty one", "URI",
            of_batch="bigquery:{dataset}.{table}_base", unless=("--output",),
        ),
    ] = None  # fmt: skip
    output: Annotated[Uri | None, Argument("a new folder for the new base; not with a base in BigQuery", "URI")] = None
    keys: Annotated[
        tuple[str, ...],
        Argument("the columns that identify a row; tables of BigQuery may tell them", "A,B", read=parse_names),
    ] = ()
    start: Annotated[
        datetime | str | None,
        Argument("a window's start: a time of landing or a sequence", "PLACE", name="from", read=parse_bound),
    ] = None
    end: Annotated[
        datetime | str | None, Argument("its end, which is not part of it", "PLACE", name="to", read=parse_bound)
    ] = None
    format: Annotated[Literal["datastream", "debezium", "modify_time"], Argument("how changes are written")] = "datastream"
    mode: Annotated[Literal["merge", "rebuild"], Argument("rebuild: from the changes alone")] = "merge"
    position: Annotated[
        str | None, Argument("the column that orders rows of periodic pulls (format modify_time)", "COLUMN")
    ] = None
    unavailable_value: Annotated[
        str | None, Argument("Debezium's unavailable.value.placeholder, where that is set (format debezium)", "TEXT")
    ] = None

    @property
    def unavailable(self) -> str:
        """The text in place of a value that is not in the log, as Debezium's option spells it."""
        return UNAVAILABLE_VALUE if self.unavailable_value is None else self.unavailable_value

    @property
    def window(self) -> str:
        """The window in words for people; empty where the arguments name none."""
        kind = "landed" if any(isinstance(bound, datetime) for bound in (self.start, self.end)) else "sequences"
        kind = f"values of {self.position}" if self.format == "modify_time" else kind
        bounds = [f"{word} {bound}" for word, bound in (("from", self.start), ("to", self.end)) if bound is not None]
        return " ".join([kind, *bounds]) if bounds else ""

    @property
    def whole(self) -> bool:
        """Whether all changes are read, because the arguments name no window."""
        return self.start is None and self.end is None

    def conflicts(self) -> Iterator[str]:
        if not self.keys and any(uri.table is None for uri in self.changes):
            yield "--keys: name the columns that identify a row; only tables of BigQuery can tell them"
        yield from self._output_conflicts()
        if (self.format == "modify_time") != (self.position is not None):
            yield "--position names the column that orders rows, with --format modify_time and only with it"
        yield from self._window_conflicts()
        yield from self._unavailable_conflicts()

    def _output_conflicts(self) -> Iterator[str]:
        in_bigquery = self.base is not None and self.base.table is not None
        if in_bigquery and self.output:
            yield "--output: a base in BigQuery is merged into, and takes no output"
        if not in_bigquery and not self.output:
            yield "--output: name a new folder for the new base, or a --base in BigQuery"
        if self.output and self.output.table:
            yield "--output: name a folder; to merge into a table of BigQuery, name it as --base"
        if self.base and self.output and self.base.text.rstrip("/") == self.output.text.rstrip("/"):
            yield "--output must not be the base: the old base stays whole until the new one is"
        if in_bigquery and self.mode == "rebuild" and not self.whole:
            yield "--mode rebuild makes a base in BigQuery of the whole history: leave out --from and --to"

    def _window_conflicts(self) -> Iterator[str]:
        if self.format != "modify_time":
            yield from (
                f"{bound!r} is neither a time of landing, as 2024-05-01T12:00:00Z, nor a sequence of the source"
                for bound in (self.start, self.end)
                if isinstance(bound, str) and not _may_be_sequence(bound)
            )
        if self.start is None or self.end is None:
            return
        if type(self.start) is not type(self.end):
            yield "--from and --to must both be times of landing, or both be sequences"
        # How texts of a column are ordered is unknown without its type.
        elif not (self.format == "modify_time" and isinstance(self.start, str)) and _rank(self.start) >= _rank(self.end):
            yield f"nothing is from {self.start} to {self.end}: --to has to come after --from"

    def _unavailable_conflicts(self) -> Iterator[str]:
        text, option = self.unavailable_value, "--unavailable-value: expected"
        if text is None:
            return
        if self.format != "debezium" or not text:
            yield f"{option} a text with --format debezium, got {text!r} with {self.format}: leave it out"
        elif text.startswith("hex:") and not _HEX.fullmatch(text):
            yield f"{option} pairs of hexadecimal digits after hex:, got {text!r}: write hex:4f4b"


@dataclass(frozen=True)
class DatasetArguments(JobArguments):
    """Merge every table of a dataset of BigQuery that has rows newer than its last merge."""

    job: ClassVar[str] = "reconcile"

    dataset: Annotated[str, Argument("the dataset", "D", check=is_dataset, of_batch="{dataset}")]
    match: Annotated[
        str | None,
        Argument(
            "only tables whose base name matches, as order_*", "PATTERN", otherwise="all",
            check=not_empty("a pattern of base names", ": write order_*, or leave it out"),
        ),
    ] = None  # fmt: skip
    parallel: Parallel = 4
    late_hours: Annotated[
        int,
        Argument(
            "after how many hours without a merge a table with new rows is logged as an error, 1 to 8,760", "N",
            check=between(1, 8_760, " hours"),
        ),
    ] = 48  # fmt: skip


@dataclass(frozen=True)
class CompareArguments(JobArguments):
    """Compare two sets of rows, row by row."""

    job: ClassVar[str] = "compare"

    left: Annotated[
        Uri, Argument("one side: a table, a view or a folder", "URI", of_batch="bigquery:{dataset}.{table}_current")
    ]
    right: Annotated[Uri, Argument("the other side", "URI")]
    keys: Annotated[tuple[str, ...], Argument("the columns that identify a row", "A,B", read=parse_names)]
    output: Annotated[Uri | None, Argument("a new folder or table for every difference", "URI")] = None
    without: Annotated[
        tuple[str, ...], Argument("columns that are not compared", "A,B", name="except", read=parse_names)
    ] = ()


def parse_reconcile(words: Sequence[str]) -> ReconcileArguments | DatasetArguments:
    """Return the arguments of `spark_jobs/reconcile.py`, for one table or, with `--dataset`, for all tables of a dataset.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> parse_reconcile(["--dataset", "shop", "--match", "order_*"])
        DatasetArguments(dataset='shop', match='order_*', parallel=4, late_hours=48)
        >>> parse_reconcile(["--changes", "bigquery:shop.customer", "--base", "bigquery:shop.customer_base"]).base
        Uri(text='bigquery:shop.customer_base', table=TableId(project=None, dataset='shop', table='customer_base'))
    """
    for_dataset = any(word.partition("=")[0] == "--dataset" for word in words)
    return (DatasetArguments if for_dataset else ReconcileArguments).parse(words)


def _may_be_sequence(text: str) -> bool:
    return any(letter.isdigit() for letter in text) or re.fullmatch(HEXADECIMAL[1:-1], text) is not None


def _rank(bound: datetime | str) -> str:
    """Return a text that sorts as the bounds do, among bounds of one kind."""
    return str(Position(bound)) if isinstance(bound, str) else bound.astimezone(UTC).isoformat(timespec="microseconds")
