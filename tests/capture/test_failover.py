"""A replica becomes the primary: its log is read on by GTIDs, and tables are copied where the replica lacks transactions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import Bench, bench_of, eventually, latest
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.end_to_end import Flow
from support.replicas import Pair, new_pair, new_servers
from support.source_database import SourceDatabase, end_of_log, on

from onefold.capture.checkpoint import Progress
from onefold.core.errors import NotFound
from onefold.mysql.connection import query
from onefold.mysql.gtid import read_executed

pytestmark = on(MariaDb, MySql)

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(30))"
LOST = ("UPDATE t SET name = 'lost' WHERE id = 1", "DELETE FROM t WHERE id = 2", "INSERT INTO t VALUES (3, 'lost')")
OTHERS = ("INSERT INTO t VALUES (4, 'new')", "INSERT INTO t VALUES (5, 'new')", "UPDATE t SET name = 'x' WHERE id = 5")
"""As many transactions of the new primary: in MariaDB they have the numbers of those that were lost."""


@pytest.fixture(scope="module")
def mariadb_servers() -> Iterator[tuple[DatabaseServer, DatabaseServer]]:
    with new_servers(MariaDb) as servers:
        yield servers


@pytest.fixture(scope="module")
def mysql_servers() -> Iterator[tuple[DatabaseServer, DatabaseServer]]:
    with new_servers(MySql) as servers:
        yield servers


@pytest.fixture
def server(request: pytest.FixtureRequest) -> DatabaseServer:
    """The primary of the pair."""
    servers: tuple[DatabaseServer, DatabaseServer] = request.getfixturevalue(
        {MariaDb: "mariadb_servers", MySql: "mysql_servers"}[request.param]
    )
    request.node.servers = servers
    return servers[0]


@pytest.fixture
def pair(request: pytest.FixtureRequest, server: DatabaseServer) -> Iterator[Pair]:
    with new_pair(request.node.servers, "shop") as made:
        assert made.primary.server is server
        yield made


@pytest.fixture
def bench(pair: Pair, tmp_path: Path) -> Bench:
    return bench_of(pair.primary, tmp_path)


def lose(pair: Pair, bench: Bench, *lost: str, others: tuple[str, ...] = ()) -> None:
    """Capture reads transactions that the replica never applies; the replica is the primary from then on."""
    start = Progress(pair.primary.start)
    pair.primary.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    pair.lag()
    pair.primary.run(*lost)
    bench.once(start=start)
    pair.promote()
    pair.replica.run(*others)
    bench.server = pair.replica.server


def new_epochs(output: str) -> list[dict[str, Any]]:
    """Return the log lines about new epochs."""
    return [line for line in map(json.loads, output.splitlines()) if line.get("event") == "epoch_raised"]


def is_purged(source: SourceDatabase) -> bool:
    """Tell whether only the last file of the log is left: MariaDB deletes the others a while later."""
    source.run(f"PURGE BINARY LOGS TO '{end_of_log(source.connection).file}'")
    return len(source.rows("SHOW BINARY LOGS")) == 1


def shown(source: SourceDatabase) -> dict[tuple[object, ...], dict[str, object]]:
    return {(source.name, "t", id_): {"id": id_, "name": name} for id_, name in source.rows("SELECT * FROM t")}


def lost_of(pair: Pair) -> str:
    """Return the transactions that the replica lacks, as the servers themselves compute them."""
    if pair.primary.on_mariadb:
        return pair.primary.executed()
    sets = (pair.primary.executed(), pair.replica.executed())
    ((text,),) = query(pair.replica.connection, "SELECT GTID_SUBTRACT(%s, %s)", sets)
    return str(text).replace("\n", "")


@pytest.mark.parametrize("others", [(), OTHERS], ids=["behind", "diverged"])
def test_transactions_that_the_new_primary_lacks_are_named_and_all_tables_are_copied(
    pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str], others: tuple[str, ...]
) -> None:
    lose(pair, bench, *LOST, others=others)
    before = bench.publisher.count()
    records = bench.once(follow_gtids=True)[before:]
    assert {record["metadata"]["ingestion_method"] for record in records} == {"SNAPSHOT"}
    assert latest(records) == shown(pair.replica)
    (line,) = new_epochs(capsys.readouterr().out)
    assert (line["severity"], line["by_gtid"], line["lost_gtids"]) == ("ERROR", False, lost_of(pair))
    assert f"this server does not have: {lost_of(pair)}; epoch 2 begins, 1 tables are copied again" in line["message"]
    # The deleted row waits for the delete scan.
    checkpoint = bench.checkpoint()
    assert [one["copy"]["table"] for one in checkpoint["sweeps"]] == ["t"]
    assert read_executed(checkpoint["executed"]) == read_executed(pair.replica.executed())
    pair.replica.run("UPDATE t SET name = 'y' WHERE id = 1")
    assert latest(bench.once(follow_gtids=True)[before:]) == shown(pair.replica)


def test_a_replica_with_all_transactions_is_read_on_without_copies(
    pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    lose(pair, bench, others=OTHERS)
    before = bench.publisher.count()
    records = bench.once(follow_gtids=True)
    assert len(records) - before == len(OTHERS)
    assert {record["metadata"]["ingestion_method"] for record in records} == {"BINLOG"}
    assert latest(records) == shown(pair.replica)
    (line,) = new_epochs(capsys.readouterr().out)
    assert (line["severity"], line["by_gtid"], "lost_gtids" in line) == ("WARNING", True, False)


def test_a_process_killed_before_it_read_on_checks_the_transactions_again(
    pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """The checkpoint has GTIDs only, and the address leads to yet another server by now."""
    lose(pair, bench, *LOST)
    before = bench.publisher.count()
    checkpoint = {**bench.checkpoint(), "place": None, "fingerprint": None, "epoch": 2}
    (bench.folder / "checkpoint" / "checkpoint.json").write_text(json.dumps(checkpoint))
    records = bench.once(follow_gtids=True)[before:]
    assert {record["metadata"]["change_sequence_number"].split("/")[0] for record in records} == {"3"}
    assert latest(records) == shown(pair.replica)
    (line,) = new_epochs(capsys.readouterr().out)
    assert (line["severity"], line["by_gtid"]) == ("ERROR", False)
    assert f"the source does not have transactions behind which its log was to be read: {lost_of(pair)};" in line["message"]


def test_a_start_behind_transactions_that_the_server_never_had_is_refused(pair: Pair, bench: Bench) -> None:
    pair.primary.run(CREATE)
    pair.lag()
    pair.primary.run("INSERT INTO t VALUES (1, 'a')")
    bench.server = pair.replica.server
    with pytest.raises(NotFound, match="was to be read") as refused:
        bench.once(start=Progress(executed=read_executed(pair.primary.executed())))
    assert str(refused.value).endswith(lost_of(pair))
    assert not (bench.folder / "checkpoint" / "checkpoint.json").exists()


def test_a_new_primary_whose_log_was_purged_is_copied(pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    lose(pair, bench, others=(OTHERS[0], "FLUSH LOGS", OTHERS[1], "FLUSH LOGS"))
    eventually(lambda: is_purged(pair.replica))
    pair.replica.run(OTHERS[2])
    before = bench.publisher.count()
    records = bench.once(follow_gtids=True)[before:]
    assert {record["metadata"]["ingestion_method"] for record in records} == {"SNAPSHOT"}
    assert latest(records) == shown(pair.replica)
    assert [line["by_gtid"] for line in new_epochs(capsys.readouterr().out)] == [True, False]


@on(MySql)
@pytest.mark.parametrize("lagging", [True, False])
def test_tagged_transactions_are_compared_like_all_others(
    pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str], lagging: bool
) -> None:
    start = Progress(pair.primary.start)
    pair.primary.run(CREATE, "INSERT INTO t VALUES (1, 'a')", "SET gtid_next = 'AUTOMATIC:tag'", "UPDATE t SET name = 'b'")
    if lagging:
        pair.lag()
    pair.primary.run("UPDATE t SET name = 'lost'", "INSERT INTO t VALUES (2, 'lost')", "SET gtid_next = 'AUTOMATIC'")
    bench.once(start=start)
    if not lagging:
        pair.catch_up()
    pair.promote()
    pair.replica.run("INSERT INTO t VALUES (3, 'new')")
    bench.server = pair.replica.server
    before = bench.publisher.count()
    records = bench.once(follow_gtids=True)[before:]
    (line,) = new_epochs(capsys.readouterr().out)
    assert line["by_gtid"] is not lagging
    assert line.get("lost_gtids", "") == lost_of(pair)
    assert (":tag:2-3" in lost_of(pair)) is lagging
    assert [record["data"]["id"] for record in records] == ([1, 3] if lagging else [3])


@on(MariaDb)
def test_tables_are_copied_where_a_former_primary_has_a_gap_in_its_log(
    pair: Pair, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first server came back without what was lost, and wrote more: its last number is greater than the lost ones.

    The server notices when it comes to that number, and has sent transactions of another domain by then.
    """
    lose(pair, bench, *LOST, others=OTHERS)
    before = bench.publisher.count()
    number = int(pair.primary.executed().rpartition("-")[2])
    pair.replica.run("SET SESSION gtid_domain_id = 1", "INSERT INTO t VALUES (6, 'domain 1')")
    pair.replica.run("SET SESSION gtid_domain_id = 0, server_id = 1", f"SET SESSION gtid_seq_no = {number + 9}")
    pair.replica.run("INSERT INTO t VALUES (7, 'back')")
    records = bench.once(follow_gtids=True)[before:]
    assert [record["metadata"]["ingestion_method"] for record in records] == ["BINLOG", *["SNAPSHOT"] * 6]
    assert latest(records) == shown(pair.replica)
    assert [line["by_gtid"] for line in new_epochs(capsys.readouterr().out)] == [True, False]


def test_people_see_the_rows_of_the_new_primary_and_no_others(pair: Pair, dataset: EmulatedDataset, tmp_path: Path) -> None:
    flow = Flow(pair.primary, dataset, tmp_path, (pair.primary.name,))
    flow.run(CREATE, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    flow.capture(snapshot=True)
    pair.lag()
    flow.run(*LOST)
    flow.capture(follow_gtids=True)
    flow.check("t")
    pair.promote()
    flow.source = pair.replica
    flow.run(*OTHERS)
    flow.capture(follow_gtids=True)
    flow.check_current("t")
