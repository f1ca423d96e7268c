"""The command `compare`: two tables, folders or files, row by row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click
from rich.console import Console
from rich.markup import escape

from onefold.cli.common import CHANGES, OK, as_json, print_lines, project, read_settings
from onefold.cli.output import echo_json, output_console
from onefold.cli.warehouse import open_project
from onefold.compare.files import FORMATS, RowSource, check_new_file, format_of, open_rows, write_findings
from onefold.compare.findings import FINDING_COLUMNS, Comparison, Finding, findings
from onefold.compare.rows import compare_sources
from onefold.compare.values import text_of
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId, check_names, problems_of_name
from onefold.core.text import counted, shown_list

_TABLE = "bigquery:"
_REMOTE = re.compile(r"[a-z0-9+.-]+:/")


class _Output(Protocol):
    """A new file or table for all findings."""

    def check(self) -> None:
        """Raise an error if the target exists already. No row has been read by then."""

    def write(self, found: Iterable[Finding]) -> None: ...


@dataclass(frozen=True)
class _File:
    path: Path

    def check(self) -> None:
        check_new_file(self.path)

    def write(self, found: Iterable[Finding]) -> None:
        write_findings(self.path, found)


@dataclass(frozen=True)
class _NewTable:
    warehouse: Any
    id: TableId

    def check(self) -> None:
        self.warehouse.check_new(self.id)

    def write(self, found: Iterable[Finding]) -> None:
        self.warehouse.write_new_table(self.id, FINDING_COLUMNS, (finding.as_row() for finding in found))


@click.command()
@click.argument("left")
@click.argument("right")
@click.option("--keys", metavar="A[,B...]", required=True, help="The columns whose values identify a row.")
@click.option("--except", "without", metavar="A[,B...]", default="", help="Columns that are not compared.")
@click.option(
    "--sample",
    metavar="N",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="How many findings of each kind to show; 0 shows only counts.",
)
@click.option(
    "--output", metavar="NEW", help="Write every finding: bigquery:DATASET.TABLE, or a .jsonl, .csv or .parquet file."
)
@project
@as_json
@click.pass_context
def compare(
    context: click.Context,
    left: str,
    right: str,
    keys: str,
    without: str,
    sample: int,
    output: str | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Compare LEFT with RIGHT row by row: rows of one side only, rows that differ, repeated keys.

    Each side is bigquery:DATASET.TABLE, or a file or folder of Parquet, JSON lines or CSV. Exits with 2 if they differ.
    """
    target = _output(context, output, project)
    if target:
        target.check()
    names = _names(keys)
    one, other = (_open(context, side, project) for side in (left, right))
    found = compare_sources(one, other, names, without=_names(without))
    if target:
        target.write(findings(found, names))
    if as_json:
        every = [finding.as_dict() for finding in findings(found, names)]
        echo_json([{**found.summary.as_dict(), "output": output, "differences": every}])
    else:
        _show(found, names, sample)
        if target:
            print_lines(f"{counted(found.summary.findings, 'finding')} written to {output}")
    return OK if found.same else CHANGES


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _open(context: click.Context, side: str, project: str | None) -> RowSource:
    """Return the rows of a table, a file or a folder.

    Raises:
        InvalidInput: there is no such file, and the text looks like the name of a table.
    """
    if not side.startswith(_TABLE):
        path = _path(side)
        if not path.exists() and format_of(side) not in FORMATS and _looks_like_a_table(side):
            raise InvalidInput(f"{side}: there is no such file or folder; for a table of BigQuery write {_TABLE}{side}")
        return open_rows(path)
    warehouse, id_ = _table(context, side, project)
    return RowSource(warehouse.read_rows(id_), _TABLE)


def _looks_like_a_table(side: str) -> bool:
    *before, table = side.split(".")
    return bool(before) and not [*problems_of_name("dataset", before[-1]), *problems_of_name("table", table)]


def _output(context: click.Context, output: str | None, project: str | None) -> _Output | None:
    if output is None:
        return None
    if not output.startswith(_TABLE):
        return _File(_path(output))
    return _NewTable(*_table(context, output, project))


def _path(text: str) -> Path:
    """Return the path of a file or folder on this machine.

    Raises:
        InvalidInput: the text is an address in a bucket.
    """
    if _REMOTE.match(text):
        raise InvalidInput(
            f"expected a path on this machine or {_TABLE}DATASET.TABLE, got {text}: "
            "compare folders in buckets with `onefold batch compare`"
        )
    return Path(text)


def _table(context: click.Context, uri: str, project: str | None) -> tuple[Any, TableId]:
    """Connect to the warehouse of a table that `bigquery:[PROJECT.]DATASET.TABLE` names.

    Raises:
        InvalidInput: the dataset is missing, or a name is invalid.
    """
    *qualifiers, table = uri.removeprefix(_TABLE).split(".")
    if not qualifiers:
        raise InvalidInput(f"expected {_TABLE}DATASET.TABLE or {_TABLE}PROJECT.DATASET.TABLE, got {uri}: name the dataset")
    # A project may contain dots: example.com:shop.
    dataset, own = qualifiers.pop(), ".".join(qualifiers)
    check_names([("dataset", dataset), ("table", table), *([("project", own)] if own else [])])
    warehouse = open_project(context, project or read_settings(context).project)
    return warehouse, TableId(own or warehouse.project, dataset, table)


def _show(found: Comparison, keys: list[str], sample: int) -> None:
    console = output_console()
    verdict = "[green]the same[/]" if found.same else "[red]different[/]"
    console.print(f"{verdict}: {counted(found.left_rows, 'row')} left, {found.right_rows:,} right")
    for side, columns in (("left", found.columns_only_left), ("right", found.columns_only_right)):
        if columns:
            console.print(f"columns only {side}: {shown_list(columns)}", markup=False)
    for title, rows in (
        ("rows only left", found.only_left),
        ("rows only right", found.only_right),
        ("repeated keys, left", found.repeated_left),
        ("repeated keys, right", found.repeated_right),
    ):
        if rows:
            _show_sample(console, title, keys, rows, sample)
    if found.differences:
        every = [(*one.key, one.column, one.left, one.right) for one in found.differences]
        _show_sample(console, "values that differ", [*keys, "column", "left", "right"], every, sample)


def _show_sample(console: Console, title: str, names: list[str], rows: Sequence[tuple[Any, ...]], sample: int) -> None:
    from onefold.refresh.display import show_rows

    some = f"the first {sample:,} of " if 0 < sample < len(rows) else ""
    console.print(f"{title}: {some}{len(rows):,}")
    if sample:
        show_rows(console, "", [escape(name) for name in names], [_texts(row) for row in rows[:sample]])


def _texts(values: Iterable[Any]) -> list[str | None]:
    return [text_of(value) for value in values]
