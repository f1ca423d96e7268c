"""A captured table that differs from its source: a check finds it, capture copies it, and the next check finds nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pymysql
from support.bigquery_emulator import EmulatedDataset
from support.capture import SOURCE
from support.database_servers import MariaDb, MySql
from support.end_to_end import Flow
from support.in_memory import MemoryPublisher
from support.source_database import SourceDatabase, on

from onefold.capture.copy_mailbox import FolderMailbox
from onefold.check.report import TableCheck
from onefold.check.request import CheckRequest
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.core.names import TableId
from onefold.mysql.connection import connect
from onefold.pull.read.python_reader import PythonReader
from onefold.settings.environment import Settings
from onefold.settings.sources import Source
from onefold.spark.check.checks import checks_of
from onefold.spark.pull.loads import loads_of
from onefold.spark.pull.places import destination_of
from onefold.views.refresh_current import refresh_current

pytestmark = on(MariaDb, long=MySql)


def mailbox(flow: Flow) -> FolderMailbox:
    """Return where checks ask the capture for copies."""
    return FolderMailbox(flow.folder / "checkpoint")


def check(flow: Flow, tmp_path: Path) -> TableCheck:
    """Check the table as the schedule does, but all chunks, and ask for a copy where it differs."""
    database, project = flow.source.name, flow.warehouse.project
    settings = Settings(
        project=project, topic_table_created="table-created", pulled_files=(tmp_path / "files").as_uri(),
        sources={SOURCE: Source(SOURCE, "localhost", databases=(database,))},
    )  # fmt: skip
    to = destination_of(settings)
    request = CheckRequest(
        SOURCE, database, captured=flow.dataset.name, at=datetime.now(UTC), whole=True, rows=2, settle_seconds=0, fix=True
    )
    loads = loads_of(settings, flow.dataset.name, to, lambda _: MemoryPublisher())

    def open_source() -> pymysql.Connection:
        return connect(flow.source.server.address)

    reader = PythonReader(open_source, to)
    refresh_current(flow.warehouse, TableId(project, flow.dataset.name, "t"), (), settings)
    checks = checks_of(request, settings, open_source, reader, to, flow.warehouse, loads, mailbox=mailbox(flow))
    (found,) = checks.run().tables
    return found


def test_what_a_check_finds_is_repaired_by_a_copy(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> None:
    flow = Flow(source, dataset, tmp_path, (source.name,))
    flow.run("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))")
    flow.run("INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')")
    flow.capture(snapshot=True)
    assert check(flow, tmp_path).outcome == "same"
    (name,) = (one.table_id for one in dataset.client.list_tables(dataset.name) if one.table_id.startswith("t_v_"))
    landed = TableId(flow.warehouse.project, dataset.name, name).quoted
    flow.warehouse.execute(f"UPDATE {landed} SET name = 'wrong' WHERE id = 2")
    flow.warehouse.execute(f"DELETE FROM {landed} WHERE id = 4")
    flow.warehouse.execute(f"UPDATE {landed} SET id = 9 WHERE id = 5")
    found = check(flow, tmp_path)
    assert (found.outcome, found.by_kind) == ("different", {DIFFERENT: 1, ONLY_LEFT: 2, ONLY_RIGHT: 1}), found.text
    flow.forget()
    flow.capture()
    assert mailbox(flow).read() == []
    found = check(flow, tmp_path)
    assert found.outcome == "same", found.text
