"""Small files whose rows are appended without a load job."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onefold.core.names import TableId
from onefold.ports.load_jobs import LoadedJob, RowAppender
from onefold.ports.objects import FileStore
from onefold.pull.read.plan import TablePlan
from onefold.pull.read.pulled import PulledFile


@dataclass(frozen=True)
class SmallAppends:
    """Appends the rows of small files.

    Attributes:
        store: reads files.
        rows: writes rows.
    """

    store: FileStore
    rows: RowAppender

    def append(self, plan: TablePlan, table: TableId, files: Sequence[PulledFile]) -> LoadedJob | None:
        """Append the rows of files where they are small enough; return None where a load job has to do it.

        Args:
            plan: of the pull.
            table: the versioned table.
            files: the files of one append.

        Raises:
            TryAgain: it is not known whether the rows were written.
        """
        # A first pull that is repeated may find its own files, and only a load job tells whether it has written them.
        is_small = sum(file.bytes for file in files) <= plan.request.stream_below
        if plan.first or plan.range.window != "15m" or not is_small:
            return None
        read = list(self._rows(files))
        return self.rows.append(table, read) if len(read) == sum(file.rows for file in files) else None

    def _rows(self, files: Sequence[PulledFile]) -> Iterator[dict[str, Any]]:
        for file in files:
            stored = self.store.find(file.name)
            data = stored.data if stored else b""
            text = gzip.decompress(data) if file.name.endswith(".gz") and data else data
            yield from (json.loads(line) for line in text.splitlines())
