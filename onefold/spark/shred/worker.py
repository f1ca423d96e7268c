"""The part of the job that runs in the workers of Python: records in, blocks of rows out, in one pass over the events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from onefold.core.errors import TryAgain
from onefold.events.shred.duplicates import LEFT_OUT, KeyReader, key_reader
from onefold.events.shred.plan import ShredPlan
from onefold.events.shred.shredder import Shredded, Shredder
from onefold.events.shred.tally import Tally, WrittenFile
from onefold.events.shred.wide import WideRows
from onefold.spark.shred.batch_rows import BatchRows
from onefold.spark.shred.blocks import Blocks, EventBlock, TextBlocks
from onefold.spark.shred.files import FOLDER_COLUMNS
from onefold.spark.shred.form import FileForm
from onefold.spark.shred.parquet_blocks import ParquetBlocks
from onefold.spark.shred.records import texts_of

NUMBER, DATA = "number", "data"
"""The columns of the result after the four parts of the folder: the number of the block, and its bytes."""
_BATCH_BYTES = 16 << 20
"""The bytes of blocks from which a batch goes to Spark."""


@dataclass(frozen=True)
class Worker:
    """Shreds the records of a task.

    Attributes:
        plan: of the run.
        form: of the files.
        folders: the four parts of the folder of each table.
        count: takes the counts of the task at its end.
        dry_run: True where nothing is written.
        decided: True where records come with decisions about duplicates, and the run keeps the ids of its events.
    """

    plan: ShredPlan
    form: FileForm
    folders: Mapping[int, tuple[str, ...]]
    count: Callable[[Tally], None]
    dry_run: bool = False
    decided: bool = False

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the blocks of the records of a partition."""
        tally = Tally()
        shred, key_of = Shredder(self.plan).shred, key_reader(self.plan.input)
        wide = WideRows(self.plan.tables) if self.plan.is_wide else None
        rows = (self._rows(shred, key_of, wide, batch, tally) for batch in batches)
        if self.dry_run:
            for _ in rows:
                pass
        else:
            task: Any = TaskContext.get()
            files = FileCounter(self.form, task.partitionId())
            yield from self._batches(files.counted(self._blocks(rows)))
            tally.files += files.files.values()
        self.count(tally)

    def _rows(
        self,
        shred: Callable[[str, str | None], Shredded],
        key_of: KeyReader,
        wide: WideRows | None,
        batch: pa.RecordBatch,
        tally: Tally,
    ) -> Mapping[int, list[Any]]:
        """Return the rows of records by the number of the table, and count them.

        Args:
            shred: shreds one record, under another id where one is given.
            key_of: reads the id and the fingerprint of a record.
            wide: makes rows with wide columns, if there are to be such.
            batch: the records.
            tally: counts.
        """
        found = BatchRows(self.plan.tables, wide)
        for record, new_id in self._taken(key_of, batch, tally):
            one = shred(record, new_id)
            found.add(one)
            if self.decided and one.bad is None:
                tally.renamed += new_id is not None
                found.ids += [self.form.id_row(key)] if (key := key_of(record)) else []
        found.count(tally)
        return found.written(self.form)

    def _taken(self, key_of: KeyReader, batch: pa.RecordBatch, tally: Tally) -> Iterator[tuple[str, str | None]]:
        """Yield the records that are taken, each with its new id, if it gets one, and count those that are left out.

        Raises:
            TryAgain: the decision at a record is one about another record.
        """
        texts = texts_of(batch.column(0))
        if not self.decided:
            yield from ((text, None) for text in texts if text)
            return
        for text, id_, new_id in zip(texts, batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True):
            if new_id is not None and ((key := key_of(text)) is None or key.id != id_):
                raise TryAgain("the files of events were read in other parts than before: start the job again")
            if new_id == LEFT_OUT:
                tally.events += 1
                tally.left_out += 1
            elif text:
                yield text, new_id

    def _blocks(self, found: Iterable[Mapping[int, list[Any]]]) -> Iterator[EventBlock]:
        blocks: Blocks = TextBlocks() if self.plan.form.is_csv else ParquetBlocks(self.plan)
        for rows in found:
            for table, some in rows.items():
                yield from blocks.add(table, some)
        yield from blocks.rest()

    def _batches(self, blocks: Iterable[EventBlock]) -> Iterator[pa.RecordBatch]:
        waiting: list[EventBlock] = []
        size = 0
        for block in blocks:
            waiting.append(block)
            size += len(block.data)
            if size >= _BATCH_BYTES:
                yield self._batch(waiting)
                waiting, size = [], 0
        if waiting:
            yield self._batch(waiting)

    def _batch(self, blocks: list[EventBlock]) -> pa.RecordBatch:
        folders = zip(*(self.folders[block.table] for block in blocks), strict=True)
        numbers = pa.array([block.number for block in blocks], pa.int32())
        data = pa.array([block.data for block in blocks], pa.binary())
        return pa.RecordBatch.from_arrays([*map(pa.array, folders), numbers, data], names=[*FOLDER_COLUMNS, NUMBER, DATA])


@dataclass
class FileCounter:
    """Counts the rows and bytes of the files into which Spark will put blocks.

    Attributes:
        form: of the files.
        task: the number of the task.
        files: the files by table and number.
    """

    form: FileForm
    task: int
    files: dict[tuple[int, int], WrittenFile] = field(default_factory=dict)

    def counted(self, blocks: Iterable[EventBlock]) -> Iterator[EventBlock]:
        """Yield the blocks, counted."""
        for block in blocks:
            number, size = block.number // self.form.blocks, len(block.data) + len(self.form.end)
            known = self.files.get((block.table, number)) or WrittenFile(block.table, self.task, number, 0, 0)
            rows = known.rows + block.rows
            self.files[block.table, number] = WrittenFile(block.table, self.task, number, rows, known.bytes + size)
            yield block
