"""Whether a chunk is the same on both sides, told by its digests, so that no row of it has to be read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

import pymysql

from onefold.check.digest import digest_queries
from onefold.check.request import CheckedTable
from onefold.mysql.connection import query
from onefold.ports.warehouse import BaseWarehouse
from onefold.pull.read.plan import KeyRange


@dataclass(frozen=True)
class ChunkDigests:
    """Compares digests of chunks.

    Attributes:
        connect: opens a connection to the source.
        warehouse: where the views are.
    """

    connect: Callable[[], pymysql.Connection]
    warehouse: BaseWarehouse

    def rows_if_same(self, table: CheckedTable, part: KeyRange) -> int | None:
        """Return the rows of a chunk at the source; None where digests do not tell that it is the same on both sides.

        Args:
            table: the table.
            part: the chunk.
        """
        queries = digest_queries(table, part)
        if queries is None:
            return None
        with closing(self.connect()) as connection:
            ((every, compared, known, *sums),) = query(connection, queries.source)
        if known != compared:  # a value has no text that the view writes alike, or a text is too long for the server
            return None
        (view,) = self.warehouse.fetch(queries.view)
        is_same = (
            (compared, compared) == (view["rows_compared"], view["rows_known"])
            # Of a key that comes twice one row may be left out, and the other one be the source's.
            and view["rows_all"] == view["rows_keys"]
            and all(mine == view[f"sum_{number}"] for number, mine in enumerate(sums, 1))
        )
        return int(every) if is_same else None
