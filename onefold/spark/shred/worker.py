"""The part of the job that runs in the workers of Python: files of events in, files of rows out, in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark import TaskContext

from onefold.core.errors import TryAgain
from onefold.events.shred.duplicates import LEFT_OUT, KeyReader, key_reader
from onefold.events.shred.event import EventKey
from onefold.events.shred.event_ids import hash_of
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredder
from onefold.events.shred.tally import BAD_ROWS, EVENT_IDS, Tally, WrittenFile
from onefold.events.shred.wide import WideRows
from onefold.spark.shred.batch_rows import BatchRows
from onefold.spark.shred.files import folder_of
from onefold.spark.shred.parquet_files import ParquetFiles
from onefold.spark.shred.records import CHUNK_BYTES, read_records
from onefold.spark.shred.stores import Stores
from onefold.spark.shred.table_files import Target, TextFiles
from onefold.spark.shred.tasks import ReadTask


@dataclass(frozen=True)
class Worker:
    """Shreds the records of a task.

    Attributes:
        plan: of the run.
        stores: those of the events and of the run.
        run_folder: the address of the folder of the run; None where nothing is written.
        decided: True where it was decided about duplicates, and the run keeps the ids of its events.
        chunk: how many bytes of events to read at once.
    """

    plan: ShredPlan
    stores: Stores
    run_folder: str | None = None
    decided: bool = False
    chunk: int = CHUNK_BYTES

    def run(self, task: ReadTask) -> Tally:
        """Write the rows of the records of a task, and return the counts."""
        tally = Tally()
        files = self._files(task)
        shred, key_of = Shredder(self.plan, keyed=self.decided).shred, key_reader(self.plan.input)
        wide = WideRows(self.plan.tables) if self.plan.is_wide else None
        for records in self._taken(task, key_of, tally):
            found = BatchRows(self.plan.tables, wide)
            keys: list[EventKey] = []
            for record, new_id in records:
                one = shred(record, new_id)
                found.add(one)
                if self.decided and one.bad is None:
                    tally.renamed += new_id is not None
                    if key := one.key or key_of(record):
                        keys.append(key)
            found.ids = [(id_, fingerprint, hash_of(id_)) for id_, fingerprint in keys]
            found.count(tally)
            if files:
                files.add(found.written())
        tally.files += files.close() if files else ()
        return tally

    def _files(self, task: ReadTask) -> _RunFiles | None:
        if self.run_folder is None:
            return None
        context: Any = TaskContext.get()
        folders = {number: folder_of(self.plan, number) for number in (*range(len(self.plan.tables)), BAD_ROWS, EVENT_IDS)}
        return _RunFiles(self.plan, Target(self.stores, self.run_folder, folders, task.number, context.taskAttemptId()))

    def _taken(self, task: ReadTask, key_of: KeyReader, tally: Tally) -> Iterator[Iterable[tuple[str, str | None]]]:
        """Yield the records that are taken, each with its new id, if it gets one, and count those that are left out.

        Raises:
            TryAgain: the decision at a record is one about another record.
        """
        first = 0
        for records in read_records(self.stores, task.parts, self.chunk):
            yield _decided(task.chosen, first, records, key_of, tally) if task.chosen else ((one, None) for one in records)
            first += len(records)


def _decided(
    decisions: Mapping[int, tuple[str, str]], first: int, records: Sequence[str], key_of: KeyReader, tally: Tally
) -> Iterator[tuple[str, str | None]]:
    for place, record in enumerate(records, first):
        id_, new_id = decisions.get(place, ("", None))
        if new_id is not None and ((key := key_of(record)) is None or key.id != id_):
            raise TryAgain("files of events are not as they were a moment ago: start the job again")
        if new_id == LEFT_OUT:
            tally.events += 1
            tally.left_out += 1
        else:
            yield record, new_id


class _RunFiles:
    """The files of a task: rows in the format of the run, bad rows as lines of JSON, and ids as Parquet."""

    def __init__(self, plan: ShredPlan, target: Target) -> None:
        bad, parquet = TextFiles(target, ".json"), ParquetFiles(plan, target)
        rows = TextFiles(target, ".txt") if plan.form.is_csv else parquet
        self._all: Sequence[TextFiles | ParquetFiles] = (bad, parquet, rows) if plan.form.is_csv else (bad, parquet)
        self._add: dict[int, Callable[[int, Any], None]] = {BAD_ROWS: bad.add, EVENT_IDS: parquet.add}
        self._add_rows: Callable[[int, Any], None] = rows.add

    def add(self, rows: Mapping[int, list[Any]]) -> None:
        for table, some in rows.items():
            self._add.get(table, self._add_rows)(table, some)

    def close(self) -> list[WrittenFile]:
        for files in self._all:
            files.close()
        return [one for files in self._all for one in files.written]
