"""The command `workload`: changes with a known result, in files or on a real MySQL or MariaDB."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import OK, as_json, print_lines
from onefold.cli.output import echo_json
from onefold.core.errors import InvalidInput
from onefold.core.extras import needing
from onefold.core.text import counted, shown_list

if TYPE_CHECKING:
    from onefold.changelog.generator_files import Format
    from onefold.mysql.workload.run import SourceRun

_OF_SOURCE = ("table", "rate", "writers", "go_on")
_OF_FILES = ("duplicates", "shuffle", "same_second", "backfill", "unpadded", "base_at", "form")
_WORDS = {"go_on": "continue", "form": "format"}
_BOTH = ("operations", "seed", "key_changes", "versions", "every_type")


@click.command()
@click.option("--operations", metavar="N", default=1000, show_default=True, help="How many operations.")
@click.option(
    "--mix", metavar="I,U,D", default="40,40,20", show_default=True, help="Insertions, updates and deletions of each 100."
)
@click.option("--seed", metavar="N", default=7, show_default=True, help="The same seed gives the same workload.")
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
    help="The share of changes that occur twice, from 0 to 1.",
)
@click.option("--shuffle", is_flag=True, help="Write the changes in random order.")
@click.option("--same-second", is_flag=True, help="Cut timestamps to whole seconds.")
@click.option("--backfill", is_flag=True, help="Write the table again after half of the operations, without a sequence.")
@click.option("--unpadded", is_flag=True, help="Write sequence numbers without leading zeros.")
@click.option("--versions", metavar="N", default=1, show_default=True, help="How many table versions the changes land in.")
@click.option("--base-at", metavar="N", type=int, help="Take the base after N operations.  [default: half of them]")
@click.option(
    "--every-type/--few-columns",
    default=True,
    show_default=True,
    help="A column of every BigQuery type, or only a key, a name and an amount.",
)
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "parquet"]), default="jsonl", show_default=True, help="Of the files."
)
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="A new folder.")
@click.option(
    "--source", "url", metavar="URL", help="Write to a table of this server instead: mysql://USER@HOST:PORT/DATABASE."
)
@click.option("--table", metavar="NAME", default="account", show_default=True, help="With --source: the table to create.")
@click.option("--rate", metavar="N", type=float, help="With --source: operations in a second.  [as many as it takes]")
@click.option("--writers", metavar="N", default=4, show_default=True, help="With --source: connections that write at once.")
@click.option(
    "--continue", "go_on", is_flag=True, help="With --source: go on with the table of the last run, whose DIR it is."
)
@as_json
@click.pass_context
def workload(
    context: click.Context, /, mix: str, form: Format, out: Path, url: str | None, as_json: bool, **options: Any
) -> int:
    """Make a change log and its known result, in files of a new folder.

    DIR/changes/VERSION.jsonl holds the changes of a version, DIR/base.jsonl the table at a chosen time, DIR/truth.jsonl the
    table at the end, and DIR/types.json the type of each column. With --format parquet, each .jsonl is .parquet.

    With --source, the operations are done in a new table of a MySQL or MariaDB, by several writers, in transactions of which
    some are rolled back, and DIR/truth.jsonl is the only file. The password is asked for, or in
    ONEFOLD_SOURCE_PASSWORD.
    """
    _check_together(context, with_source=url is not None)
    chosen = {"mix": _shares(mix), **{name: options[name] for name in _BOTH}}
    if url is None:
        chosen.update({name: options[name] for name in _OF_FILES if name != "form"})
        return _make_files(chosen, form, out, as_json)
    chosen.update({name: options[name] for name in ("rate", "writers")})
    with needing("capture"):
        return _write_to_source(url, options["table"], chosen, out, as_json, go_on=options["go_on"])


def _check_together(context: click.Context, *, with_source: bool) -> None:
    """Check that no option is typed that the other kind of workload has.

    Raises:
        UsageError: one is typed; the error names all of them.
    """
    unfit = _OF_FILES if with_source else _OF_SOURCE
    typed = click.core.ParameterSource.COMMANDLINE
    names = [
        f"--{_WORDS.get(name, name.replace('_', '-'))}" for name in unfit if context.get_parameter_source(name) is typed
    ]
    if names and with_source:
        raise click.UsageError(
            f"--source has no use for {shown_list(names)}, of a workload in files: leave out what it names."
        )
    if names:
        raise click.UsageError(f"Without --source there is no use for {shown_list(names)}: name a database by --source.")


def _make_files(chosen: Mapping[str, Any], form: Format, out: Path, as_json: bool) -> int:
    from onefold.changelog.generator import WorkloadOptions, make_workload
    from onefold.changelog.generator_files import write_workload

    workload_options = WorkloadOptions(**chosen)
    made = make_workload(workload_options)
    write_workload(made, out, form)
    sizes = {
        "operations": made.counts,
        "changes": {version: len(rows) for version, rows in made.changes.items()},
        "base": len(made.base),
        "truth": len(made.truth),
    }
    if as_json:
        echo_json([{"options": asdict(workload_options), **sizes}])
    else:
        changes = counted(sum(map(len, made.changes.values())), "change")
        print_lines(
            f"{out}: {changes} of {_kinds(made.counts)}; {counted(len(made.base), 'row')} in the base, "
            f"{len(made.truth):,} at the end"
        )
    return OK


def _write_to_source(url: str, table: str, chosen: Mapping[str, Any], out: Path, as_json: bool, *, go_on: bool) -> int:
    from onefold.cli.source_url import address_of
    from onefold.mysql.source_url import parse_source
    from onefold.mysql.workload.plan import SourceOptions
    from onefold.mysql.workload.run import SourceWorkload

    source = parse_source(url)
    if not source.database:
        raise InvalidInput("--source names no database: write mysql://USER@HOST:PORT/DATABASE, with one that exists")
    options = SourceOptions(**chosen)
    options.check()
    truth = _truth_file(out, go_on=go_on)
    before = _read(truth) if go_on else None
    on = SourceWorkload(address_of(source, os.environ), source.database, table, options)
    done = on.run(before, lambda run: _write(truth, run.truth))
    if as_json:
        counts = {"undone": done.undone, "seconds": round(done.seconds, 1), "truth": len(done.rows)}
        echo_json([{"options": asdict(options), "operations": done.counts, **counts}])
    else:
        print_lines(
            f"{source.database}.{table}: {_kinds(done.counts)} in {done.seconds:.1f} seconds; {_rest(done)} in {truth}"
        )
    return OK


def _rest(done: SourceRun) -> str:
    return f"{counted(done.undone, 'operation')} rolled back; {counted(len(done.rows), 'row')} at the end,"


def _kinds(counts: Mapping[Any, int]) -> str:
    return ", ".join(counted(count, kind) for kind, count in counts.items() if count)


def _truth_file(out: Path, *, go_on: bool) -> Path:
    """Return the file of the truth, in a folder that exists.

    Raises:
        InvalidInput: the folder is not new; or it has no truth from which to go on.
    """
    truth = out / "truth.jsonl"
    if go_on and not truth.exists():
        raise InvalidInput(f"{truth} does not exist: name the folder of the last run, or leave --continue out")
    if not go_on and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out} is there already, and not empty: name a new folder, or go on by --continue")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"{out} cannot be made: {error.strerror}") from error
    return truth


def _read(truth: Path) -> list[dict[str, Any]]:
    """Return the rows of an earlier truth; numbers that JSON has are exact.

    Raises:
        InvalidInput: a line is no JSON.
    """
    try:
        return [json.loads(line) for line in truth.read_text("utf-8").splitlines()]
    except ValueError as error:
        raise InvalidInput(f"{truth} is not a truth: name the folder of the last run") from error


def _write(truth: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    truth.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def _shares(mix: str) -> tuple[int, int, int]:
    """Return the shares of insertions, updates and deletions in percent.

    Raises:
        InvalidInput: there are not three whole numbers.
    """
    try:
        insertions, updates, deletions = (int(share) for share in mix.split(","))
    except ValueError as error:
        raise InvalidInput(
            f"expected --mix I,U,D, got {mix}: write three whole numbers with the sum 100, as in 40,40,20"
        ) from error
    return insertions, updates, deletions
