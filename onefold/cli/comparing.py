"""The command compare."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from onefold.cli.common import CHANGES, OK, as_json, project, read_settings
from onefold.compare import Comparison, compare_rows
from onefold.names import TableId, check_names
from onefold.row_files import TEXT_FORMATS, read_rows, row_files

_TABLE = "bigquery:"


@dataclass(frozen=True)
class _Source:
    rows: Iterable[Mapping[str, Any]]
    format: str


@click.command()
@click.argument("left")
@click.argument("right")
@click.option("--keys", metavar="A[,B...]", required=True, help="The columns whose values identify a row.")
@click.option("--sample", metavar="N", default=10, show_default=True, help="How many differences of a kind to show.")
@click.option("--out", metavar="FILE", type=click.Path(path_type=Path), help="Write all differences, as JSON lines.")
@project
@as_json
@click.pass_context
def compare(
    context: click.Context,
    left: str,
    right: str,
    keys: str,
    sample: int,
    out: Path | None,
    project: str | None,
    as_json: bool,
) -> int:
    """Compare LEFT with RIGHT row by row: rows of one side only, rows that differ, keys that come twice.

    Each is bigquery:DATASET.TABLE, or a file or folder of Parquet, JSON lines or CSV. Exits with 2 where they differ.
    """
    names = [key.strip() for key in keys.split(",") if key.strip()]
    sides = [_open(context, side, project) for side in (left, right)]
    formats = {side.format for side in sides}
    as_text = len(formats) > 1 and bool(formats & TEXT_FORMATS)
    found = compare_rows(sides[0].rows, sides[1].rows, names, as_text=as_text)
    if out:
        out.write_text("".join(f"{line}\n" for line in _lines(found, names)), encoding="utf-8")
    if as_json:
        click.echo(json.dumps(_as_dict(found, names), default=str))
    else:
        _show(found, names, sample)
    return OK if found.same else CHANGES


def _open(context: click.Context, side: str, project: str | None) -> _Source:
    if not side.startswith(_TABLE):
        return _Source(read_rows(Path(side)), row_files(Path(side))[0].suffix)
    from onefold.bigquery import connect

    dataset, _, table = side.removeprefix(_TABLE).partition(".")
    check_names([("dataset", dataset), ("table", table)])
    warehouse = connect(project or read_settings(context).project)
    return _Source(warehouse.read_rows(TableId(warehouse.project, dataset, table)), _TABLE)


def _as_dict(found: Comparison, keys: list[str]) -> dict[str, Any]:
    return {
        "same": found.same,
        "rows": {"left": found.left_rows, "right": found.right_rows},
        "columns_only": {"left": found.columns_only_left, "right": found.columns_only_right},
        "differences": [json.loads(line) for line in _lines(found, keys)],
    }


def _lines(found: Comparison, keys: list[str]) -> Iterator[str]:
    """Each finding as a line of JSON: its kind, the key, and for a difference the column and both values."""
    kinds = {
        "only left": found.only_left,
        "only right": found.only_right,
        "repeated left": found.repeated_left,
        "repeated right": found.repeated_right,
    }
    for kind, rows in kinds.items():
        for key in rows:
            yield json.dumps({"kind": kind, "key": dict(zip(keys, key, strict=True))}, default=str)
    for one in found.differences:
        values = {"column": one.column, "left": one.left, "right": one.right}
        yield json.dumps({"kind": "differs", "key": dict(zip(keys, one.key, strict=True)), **values}, default=str)


def _show(found: Comparison, keys: list[str], sample: int) -> None:
    from onefold.show import show_rows

    console = Console()
    verdict = "[green]the same[/]" if found.same else "[red]different[/]"
    console.print(f"{verdict}: {found.left_rows:,} rows left, {found.right_rows:,} right")
    for side, columns in (("left", found.columns_only_left), ("right", found.columns_only_right)):
        if columns:
            console.print(f"columns only {side}: {', '.join(columns)}", markup=False)
    for title, rows in (
        ("rows only left", found.only_left),
        ("rows only right", found.only_right),
        ("keys that come twice, left", found.repeated_left),
        ("keys that come twice, right", found.repeated_right),
    ):
        if rows:
            console.print(f"{title}: {len(rows):,}")
            show_rows(console, "", keys, rows[:sample])
    if found.differences:
        shown = [(*one.key, one.column, one.left, one.right) for one in found.differences[:sample]]
        console.print(f"values that differ: {len(found.differences):,}")
        show_rows(console, "", [*keys, "column", "left", "right"], shown)
