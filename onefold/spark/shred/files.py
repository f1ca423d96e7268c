"""The files of a run: where Spark has written them, that each is as its task wrote it, and their places."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.text import shown_list
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.manifest import ShreddedFile, ShreddedTable
from onefold.events.shred.plan import PlannedTable, ShredPlan
from onefold.events.shred.runs import BAD, IDS
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS, Tally, WrittenFile
from onefold.spark.io.filesystem import Folder
from onefold.spark.shred.form import FileForm, file_form

FOLDER_COLUMNS = ("vendor", "name", "format", "model")
"""The columns by which Spark writes files into folders: the four parts of the folder of a table."""
_FILE = re.compile(r"(?P<folder>.+)/part-(?P<task>[0-9]+)-[^/]*\.c(?P<number>[0-9]+)\.txt")
"""The name that Spark gives to a file: the number of the task, the job, and the number of the file in the task."""
OWN_FOLDERS = {BAD_ROWS: BAD, EVENT_IDS: IDS}
"""The folders of what is no table."""
_BAD_BYTES = 64 << 20
_ID_BYTES = 256 << 20
ID, FINGERPRINT, HASH = "event_id", "fingerprint", "id_hash"
"""The columns of the ids. The last one is 8 bytes, and all that most ids are compared by."""
_RENAMES = 16


def hash_of(id_: Column) -> Column:
    """Return 64 bits of an id, by which later runs find it: the same in every release, since runs keep them."""
    return F.xxhash64(id_)


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


def staged_parts(folder: str) -> tuple[str, ...]:
    """Return the four parts of the folder into which Spark writes a table.

    What has no vendor gets one whose name has a plus sign, which no vendor's name has, and is moved afterwards.

    Args:
        folder: that of the table, or of the bad rows.

    Examples:
        >>> staged_parts("vendor=com.acme/name=ad_click/format=jsonschema/model=1")
        ('com.acme', 'ad_click', 'jsonschema', '1')
        >>> staged_parts("events")
        ('+events', '+', '+', '+')
    """
    if "/" not in folder:
        return (f"+{folder}", *"+" * (len(FOLDER_COLUMNS) - 1))
    return tuple(part.partition("=")[2] for part in folder.split("/"))


def staged_folder(folder: str) -> str:
    """Return where Spark writes a table, below the folder of the run."""
    return "/".join(f"{name}={value}" for name, value in zip(FOLDER_COLUMNS, staged_parts(folder), strict=True))


def placed_tables(spark: SparkSession, run: Folder, plan: ShredPlan, tally: Tally) -> tuple[ShreddedTable, ...]:
    """Move events and bad rows to their folders, give files of Parquet their names, and return the tables with rows.

    Args:
        spark: the session.
        run: the folder of the run.
        plan: of the run.
        tally: the counts of all tasks.

    Raises:
        TryAgain: a file is missing, or is not as its task wrote it.
    """
    names, form = _names(run, plan, tally.files), file_form(plan.form)
    if names[BAD_ROWS]:
        _place_bad(spark, run, form, sum(one.bytes for one in tally.files if one.table == BAD_ROWS))
    if names[EVENT_IDS]:
        _place_ids(spark, run, form, sum(one.bytes for one in tally.files if one.table == EVENT_IDS))
    moved = [folder for number, table in enumerate(plan.tables) if names[number] and "/" not in (folder := table.folder)]
    for folder in moved:
        run.make(folder)
    _rename(run, dict(_new_names(plan, names, form)))
    for folder in moved:
        run.remove(_top(folder))
    tables = {number: plan.tables[number] for number in sorted(tally.rows)}
    wide = tuple(table.column for table in tables.values() if table.column)
    if 0 in tables:
        tables[0] = replace(tables[0], columns=(*tables[0].columns, *wide))
    return tuple(_shredded(table, names[number], form) for number, table in tables.items() if not table.column)


def _new_names(plan: ShredPlan, names: Mapping[int, Mapping[str, WrittenFile]], form: FileForm) -> Iterator[tuple[str, str]]:
    """Yield the path of each file that has to move or to get another name, and its new path."""
    for number, files in names.items():
        if number not in OWN_FOLDERS:
            folder = plan.tables[number].folder
            pairs = ((f"{staged_folder(folder)}/{name}", f"{folder}/{form.file_name(name)}") for name in files)
            yield from (pair for pair in pairs if pair[0] != pair[1])


def _shredded(table: PlannedTable, files: Mapping[str, WrittenFile], form: FileForm) -> ShreddedTable:
    listed = tuple(ShreddedFile(form.file_name(name), file.rows, file.bytes) for name, file in sorted(files.items()))
    own = (table.name, table.base, table.version, table.uri, table.columns, table.folder)
    return ShreddedTable(*own, listed, table.adopted)


def _names(run: Folder, plan: ShredPlan, written: Iterable[WrittenFile]) -> Mapping[int, dict[str, WrittenFile]]:
    """Return the names of the files of each table.

    Args:
        run: the folder of the run.
        plan: of the run.
        written: what the tasks have written.

    Raises:
        TryAgain: a file is missing, or has another size.
    """
    found = {_identity(entry.path): (entry.path, entry.size) for entry in run.files() if _FILE.fullmatch(entry.path)}
    names: defaultdict[int, dict[str, WrittenFile]] = defaultdict(dict)
    for file in written:
        folder = staged_folder(OWN_FOLDERS.get(file.table) or plan.tables[file.table].folder)
        path, size = found.get((folder, file.task, file.number), ("", -1))
        if size != file.bytes:
            raise TryAgain(
                f"{run.uri}/{folder}: expected a file of task {file.task} with {file.bytes:,} bytes, got {path or 'none'}: "
                "something else writes there; start the job again"
            )
        names[file.table][path.rpartition("/")[2]] = file
    return names


def _identity(path: str) -> tuple[str, int, int]:
    match = _FILE.fullmatch(path)
    return (match["folder"], int(match["task"]), int(match["number"])) if match else ("", 0, 0)


def _place_bad(spark: SparkSession, run: Folder, form: FileForm, size: int) -> None:
    """Write the bad rows as lines of JSON, and remove what they were read from.

    Args:
        spark: the session.
        run: the folder of the run.
        form: in which bad rows were written.
        size: their bytes.
    """
    staged = spark.read.format("text" if form.name == "csv" else "parquet").load(f"{run.uri}/{staged_folder(BAD)}")
    lines = staged.select("value").coalesce(max(1, size // _BAD_BYTES))
    lines.write.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").text(f"{run.uri}/{BAD}")
    run.remove(_top(BAD))
    texts = [entry.path for entry in Folder(spark, f"{run.uri}/{BAD}").files() if entry.path.endswith(".txt")]
    _rename(run, {f"{BAD}/{name}": f"{BAD}/{name.removesuffix('.txt')}.json" for name in texts})


def _place_ids(spark: SparkSession, run: Folder, form: FileForm, size: int) -> None:
    """Write the ids of the events as few files of Parquet, whatever the format of the rows, and remove what they were.

    Args:
        spark: the session.
        run: the folder of the run.
        form: in which the ids were written.
        size: their bytes.
    """
    staged = spark.read.format("text" if form.name == "csv" else "parquet").load(f"{run.uri}/{staged_folder(IDS)}")
    if form.name == "csv":
        parts = F.split("value", TAB)
        staged = staged.select(parts[0].alias(ID), parts[1].alias(FINGERPRINT))
    rows = (
        staged.select(ID, FINGERPRINT, hash_of(F.col(ID)).alias(HASH))
        .coalesce(max(1, size // _ID_BYTES))
        .write.option("compression", "zstd")
    )
    rows.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").parquet(f"{run.uri}/{IDS}")
    run.remove(_top(IDS))


def _rename(run: Folder, names: Mapping[str, str]) -> None:
    """Rename files below the folder of a run, some at the same time: an object store copies each of them."""
    rename: Callable[[tuple[str, str]], None] = lambda pair: run.rename(*pair)  # noqa: E731
    with ThreadPoolExecutor(_RENAMES) as pool:
        list(pool.map(rename, names.items()))


def _top(folder: str) -> str:
    return staged_folder(folder).partition("/")[0]
