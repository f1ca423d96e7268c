"""The commands of change logs: current, workload."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onefold.cli.common import OK, announcing, as_json, open_warehouse, project, tell
from onefold.cli.merge import key_names, key_option
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.changelog.generator_files import Format


@click.command()
@click.argument("dataset")
@click.argument("table")
@key_option
@project
@as_json
@click.pass_context
def current(context: click.Context, dataset: str, table: str, keys: str | None, project: str | None, as_json: bool) -> int:
    """Bring the view of TABLE's latest state, TABLE_current, up to date.

    TABLE is a change table in the form of Datastream's append-only mode, or the base name of versioned ones, whose
    unified view is refreshed first. Where `onefold merge` made a base, the view reads it and what was not merged yet.
    """
    from onefold.merge.refresh import refresh_current

    settings, warehouse = open_warehouse(context, project, dataset, table)
    announce = announcing(warehouse.project, settings)
    target = TableId(warehouse.project, dataset, table)
    made = refresh_current(warehouse, target, key_names(keys), settings, announce=announce)
    if as_json:
        view = {"view": str(made.id), "source": str(made.source), "base": str(made.base) if made.base else None}
        click.echo(json.dumps({**view, "action": made.action, "query": made.query}))
    else:
        done = {"none": "is up to date", "create": "created", "update": "updated"}[made.action]
        over = f"{made.base} and {made.source}" if made.base else str(made.source)
        tell(f"{made.id} {done}, over {over}")
    return OK


@click.command()
@click.option("--operations", metavar="N", default=1000, show_default=True, help="How many operations.")
@click.option("--mix", metavar="I,U,D", default="40,40,20", show_default=True, help="Insertions, updates, deletions of 100.")
@click.option("--seed", metavar="N", default=7, show_default=True, help="The same seed makes the same workload.")
@click.option(
    "--key-changes",
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="The share of updates that change the key, from 0 to 1.",
)
@click.option(
    "--duplicates",
    metavar="SHARE",
    default=0.0,
    show_default=True,
    help="The share of changes that come twice, from 0 to 1.",
)
@click.option("--shuffle", is_flag=True, help="Changes come in any order.")
@click.option("--same-second", is_flag=True, help="All timestamps of a second are equal.")
@click.option("--backfill", is_flag=True, help="At half time the table is written again, without a sequence.")
@click.option("--unpadded", is_flag=True, help="Sequence numbers without leading zeros.")
@click.option("--versions", metavar="N", default=1, show_default=True, help="In how many table versions the changes land.")
@click.option("--base-at", metavar="N", type=int, help="The base is the table after N operations.  [default: half of them]")
@click.option(
    "--every-type/--few-columns",
    default=True,
    show_default=True,
    help="A column of every BigQuery type, or only a key, a name and an amount.",
)
@click.option("--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True)
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="A new folder.")
@as_json
def workload(mix: str, form: Format, out: Path, as_json: bool, **options: int | float | bool | None) -> int:
    """Make a change log with a known truth: files DIR/changes/VERSION, DIR/base, DIR/truth and DIR/types.json."""
    from onefold.changelog.generator import WorkloadOptions, make_workload
    from onefold.changelog.generator_files import write_workload

    wanted = WorkloadOptions(mix=_shares(mix), **options)  # type: ignore[arg-type]  # click has checked them
    made = make_workload(wanted)
    write_workload(made, out, form)
    told = {
        "operations": made.counts,
        "changes": {version: len(rows) for version, rows in made.changes.items()},
        "base": len(made.base),
        "truth": len(made.truth),
    }
    if as_json:
        click.echo(json.dumps({"options": asdict(wanted), **told}))
    else:
        counts = ", ".join(counted(count, kind) for kind, count in made.counts.items() if count)
        changes = counted(sum(map(len, made.changes.values())), "change")
        tell(f"{out}: {changes} of {counts}; {counted(len(made.base), 'row')} in the base, {len(made.truth):,} at the end")
    return OK


def _shares(mix: str) -> tuple[int, int, int]:
    try:
        insertions, updates, deletions = (int(share) for share in mix.split(","))
    except ValueError as error:
        raise InvalidInput(f"--mix {mix}: write three whole numbers that make 100, as in 40,40,20") from error
    return insertions, updates, deletions
