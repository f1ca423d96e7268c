"""The files of a run: where tasks write them, that each is as its task wrote it, and their places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.text import shown_list
from onefold.events.shred.manifest import ShreddedFile, ShreddedTable
from onefold.events.shred.plan import PlannedTable, ShredPlan
from onefold.events.shred.runs import BAD, IDS
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS, Tally, WrittenFile
from onefold.spark.io.filesystem import Folder

_STAGED = "_staged"
"""The folder of what no manifest lists: bad rows and ids, also of attempts that do not count."""
_OWN_FOLDERS = {BAD_ROWS: f"{_STAGED}/{BAD}", EVENT_IDS: f"{_STAGED}/{IDS}"}
_RENAMES = 16


def check_no_ids_lost(folders: Sequence[str]) -> None:
    """Refuse to go on without ids of earlier runs.

    Args:
        folders: those in which ids are gone, or some of them, while the manifest is there.

    Raises:
        InvalidInput: there are such folders.
    """
    if folders:
        raise InvalidInput(
            f"{shown_list(folders)}: ids of {IDS} are gone, so duplicates of these runs would not be found: remove the rest "
            "of such a run, after which it is not compared, or choose a shorter --duplicates-window"
        )


def folder_of(plan: ShredPlan, number: int) -> str:
    """Return the folder, below that of the run, into which tasks write what has a number: a table, bad rows, or ids."""
    return _OWN_FOLDERS.get(number) or plan.tables[number].folder


def placed_tables(run: Folder, plan: ShredPlan, tally: Tally) -> tuple[ShreddedTable, ...]:
    """Move bad rows and ids to their folders, and return the tables with rows.

    Args:
        run: the folder of the run.
        plan: of the run.
        tally: the counts of all tasks.

    Raises:
        TryAgain: a file is missing, or is not as its task wrote it.
    """
    _check_files(run, plan, tally.files)
    files: defaultdict[int, list[WrittenFile]] = defaultdict(list)
    for file in sorted(tally.files, key=lambda one: one.name):
        files[file.table].append(file)
    for number, folder in ((BAD_ROWS, BAD), (EVENT_IDS, IDS)):
        if files[number]:
            run.make(folder)
            _rename(run, {f"{_OWN_FOLDERS[number]}/{one.name}": f"{folder}/{one.name}" for one in files[number]})
    if files[BAD_ROWS] or files[EVENT_IDS]:
        run.remove(_STAGED)
    tables = {number: plan.tables[number] for number in sorted(tally.rows)}
    wide = tuple(table.column for table in tables.values() if table.column)
    if 0 in tables:
        tables[0] = replace(tables[0], columns=(*tables[0].columns, *wide))
    return tuple(_shredded(table, files[number]) for number, table in tables.items() if not table.column)


def _shredded(table: PlannedTable, files: Iterable[WrittenFile]) -> ShreddedTable:
    listed = tuple(ShreddedFile(file.name, file.rows, file.bytes) for file in files)
    own = (table.name, table.base, table.version, table.uri, table.columns, table.folder)
    return ShreddedTable(*own, listed, table.adopted)


def _check_files(run: Folder, plan: ShredPlan, written: Iterable[WrittenFile]) -> None:
    """Check that the files are there as the tasks wrote them.

    Args:
        run: the folder of the run.
        plan: of the run.
        written: what the tasks have written.

    Raises:
        TryAgain: a file is missing, or has another size.
    """
    sizes = {entry.path: entry.size for entry in run.files()}
    for file in written:
        path = f"{folder_of(plan, file.table)}/{file.name}"
        if (size := sizes.get(path)) != file.bytes:
            found = "none" if size is None else f"one with {size:,}"
            raise TryAgain(
                f"{run.uri}/{path}: expected a file with {file.bytes:,} bytes, got {found}: something else writes there; "
                "start the job again"
            )


def _rename(run: Folder, names: Mapping[str, str]) -> None:
    """Rename files below the folder of a run, some at the same time: an object store copies each of them."""
    rename: Callable[[tuple[str, str]], None] = lambda pair: run.rename(*pair)  # noqa: E731
    with ThreadPoolExecutor(_RENAMES) as pool:
        list(pool.map(rename, names.items()))
