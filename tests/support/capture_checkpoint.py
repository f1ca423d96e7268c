"""A checkpoint in which every field has a value."""

from __future__ import annotations

from dataclasses import replace

from onefold.capture.checkpoint import Checkpoint, CopyRequest, DeleteScan, Progress
from onefold.capture.xa import PreparedTransaction
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.catalog import TableName
from onefold.mysql.gtid import read_executed
from onefold.mysql.snapshot.chunks import TableSnapshot
from onefold.mysql.table_filter import TableFilter

POSITION = LogPosition(3, "mysql-bin.000007", 1234)
COPY = TableSnapshot("shop", "customer", POSITION, (7, "größe", None), 20_000)
PREPARED = PreparedTransaction(
    "X'61',X'',1", POSITION, 1_700_000_000, frozenset({TableName("shop", "a"), TableName("shop", "b")})
)
FULL = Checkpoint(
    "shop-db", "shop", 3, Progress(POSITION, read_executed("0-1-5,1-2-7"), "1700000000/1/10.11", (PREPARED,)), True,
    (CopyRequest(TableName("shop", "a"), POSITION), CopyRequest(TableName("shop", "b"), POSITION)), (COPY,),
    (DeleteScan(replace(COPY, table="order", finished=True), 1_700_000_000, 1_700_000_600),),
    (("shop", "gone"), ("crm", None)), TableFilter(("shop", "crm.*"), ("shop.log",)),
)  # fmt: skip
