"""XA transactions: their rows are published when they are committed."""

from __future__ import annotations

import json

import pytest
from support.capture import Bench, purge
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on
from support.transactions import TABLES, capture_once, folded_rows, is_copied, source_rows
from support.xa import Xa

from onefold.capture.checkpoint import Progress


@on(MariaDb, MySql)
@pytest.mark.parametrize("how", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("restart", [False, True], ids=["at once", "with a start between"])
@pytest.mark.parametrize("max_bytes", [8_000_000, 60], ids=["buffered", "read twice"])
def test_an_xa_transaction_is_published_when_it_is_committed(
    bench: Bench, source: SourceDatabase, xa: Xa, how: str, restart: bool, max_bytes: int
) -> None:
    source.run(TABLES[3])
    start = Progress(source.start)
    capture_once(bench, max_bytes, start=start)
    temporary = ("CREATE TEMPORARY TABLE x (a INT)",) if source.on_mariadb else ()
    xa.prepare(
        "UPDATE t SET n = 7 WHERE id = 1", "SAVEPOINT s", "DELETE FROM t", *temporary, "ROLLBACK TO s",
        "INSERT INTO t VALUES (3, 3)",
    )  # fmt: skip
    source.run("INSERT INTO u VALUES (1, 1)")
    if restart:
        assert folded_rows(capture_once(bench, max_bytes)) == source_rows(source)
    xa.end(how)
    source.run("INSERT INTO u VALUES (2, 2)")
    records = capture_once(bench, max_bytes)
    assert folded_rows(records) == source_rows(source)
    assert not is_copied(records)
    assert len(records) == (6 if how == "COMMIT" else 4)
    assert bench.checkpoint()["prepared"] == []


def test_an_xa_transaction_whose_log_is_gone_is_copied(bench: Bench, source: SourceDatabase, xa: Xa) -> None:
    source.run(
        TABLES[3], "ALTER TABLE u ADD FOREIGN KEY (id) REFERENCES t (id) ON DELETE CASCADE", "INSERT INTO u VALUES (2, 9)"
    )
    bench.once(start=Progress(source.start))
    xa.prepare("DELETE FROM t WHERE id = 2")
    source.run("FLUSH BINARY LOGS")
    bench.once()
    purge(source)
    xa.end("COMMIT")
    bench.once()
    assert sorted(one["copy"]["table"] for one in bench.checkpoint()["sweeps"]) == ["t", "u"]


def test_rows_published_when_prepared_are_copied_again_after_a_rollback(
    bench: Bench, source: SourceDatabase, xa: Xa
) -> None:
    """A checkpoint of an earlier version of Onefold does not record that rows were published."""
    source.run(TABLES[3])
    bench.once(start=Progress(source.start))
    xa.prepare("DELETE FROM t")
    bench.once()
    file = bench.folder / "checkpoint" / "checkpoint.json"
    body = bench.checkpoint()
    del body["prepared"][0]["published"]
    file.write_text(json.dumps(body))
    xa.end("ROLLBACK")
    assert is_copied(bench.once())
