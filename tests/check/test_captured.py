"""Checks of captured tables: rows that land without a watermark, compared with their source after a while."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.captured_scene import CapturedScene, five_rows
from support.check_scene import CLUSTER
from support.cli import Run
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.capture.copy_mailbox import FolderMailbox
from onefold.check.by_copy import CopyRepairer
from onefold.check.counts import RowCounts
from onefold.compare.findings import DIFFERENT, ONLY_LEFT, ONLY_RIGHT
from onefold.core.errors import Rejected
from onefold.core.hash_key import HashKey
from onefold.landing.row_writer import LandingRules
from onefold.mysql.catalog import TableName
from onefold.schema.column_policy import Action, ColumnPolicies, PolicyRule
from onefold.settings.captures import ColumnRules

pytestmark = on(MariaDb, long=MySql)
KEY = HashKey(b"thirty-two bytes of a secret key")


@pytest.fixture
def scene(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CapturedScene:
    return five_rows(source, dataset, tmp_path)


def test_a_captured_table_is_compared_by_chunks_and_counted(scene: CapturedScene) -> None:
    scene.land()
    found = scene.compared()
    assert (found.outcome, found.counts, len(found.chunks)) == ("same", RowCounts("now", 5, 5), 2), found.text
    scene.source.run(
        "UPDATE t SET name = 'z' WHERE id = 2", "DELETE FROM t WHERE id = 3", "INSERT INTO t VALUES (9, 'n', NULL)"
    )
    found = scene.compared()
    assert found.by_kind == {DIFFERENT: 1, ONLY_LEFT: 1, ONLY_RIGHT: 1}
    assert (
        '`name` does not match between MySQL (val="z") and BigQuery (val="b"), in the row id="2"' in found.chunks[0].findings
    )
    assert json.loads(json.dumps(found.as_dict()))["findings"] == found.by_kind


def test_a_change_that_lands_before_the_second_read_is_no_finding(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'late' WHERE id = 4")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle_seconds=9)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        scene.land("UPDATE-INSERT", "id = 4")

    (found,) = replace(checks, sleep=sleep).run().tables
    assert (found.outcome, waited) == ("same", [9.0]), found.text


def test_numbers_differ_where_they_stay_and_rows_under_way_are_no_difference(scene: CapturedScene) -> None:
    scene.land()
    scene.source.run("INSERT INTO t VALUES (9, 'n', NULL)")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), rows=2)
    (found,) = replace(checks, sleep=lambda _: None).run().tables
    # The first chunk is the same, and the row behind it is missing.
    assert (found.outcome, found.counts, found.by_kind) == ("different", RowCounts("now", 6, 5), {}), found.text

    def write(_: float) -> None:
        scene.source.run("INSERT INTO t VALUES (10, 'n', NULL)")

    (found,) = replace(checks, sleep=write).run().tables
    assert (found.outcome, found.notes) == ("same", ("the numbers of rows changed while they were counted",)), found.text


def test_a_table_that_differs_is_copied_again_once_a_day(scene: CapturedScene, tmp_path: Path) -> None:
    scene.land()
    mailbox = FolderMailbox(tmp_path / "checkpoint")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle_seconds=0, fix=True)
    checks = replace(checks, copies=CopyRepairer(mailbox))
    (found,) = checks.run().tables
    assert (found.outcome, found.notes, mailbox.read()) == ("same", (), [])
    scene.source.run("UPDATE t SET name = 'z' WHERE id = 2")
    (found,) = checks.run().tables
    table = TableName(scene.source.name, "t")
    assert (found.outcome, [one.table for one in mailbox.read()]) == ("different", [table])
    assert found.notes == (f"a copy was asked for: the capture of {CLUSTER} copies {table} again",)
    mailbox.remove(one.name for one in mailbox.read())
    (found,) = checks.run().tables
    assert (found.outcome, mailbox.read()) == ("different", []), "the copy may still be under way"
    assert found.notes == ("a copy was asked for within the last day already: see the log of the capture",)


def test_a_difference_is_reported_where_no_copy_can_be_asked_for(scene: CapturedScene, tmp_path: Path) -> None:
    scene.land()
    scene.source.run("UPDATE t SET name = 'z' WHERE id = 2")
    checks = scene.checks(captured=scene.emulated.name, tables=("t",), whole=True, settle_seconds=0, fix=True)
    (found,) = checks.run().tables
    assert (found.outcome, f"--again {scene.source.name}.t, or let ONEFOLD_BATCH_CHECKPOINTS" in found.text) == (
        "different",
        True,
    )
    (found,) = replace(checks, copies=CopyRepairer(Refusing(tmp_path))).run().tables
    assert (found.by_kind, found.notes) == (
        {DIFFERENT: 1}, ("a copy could not be asked for, the next check tries again: 403 for 1",),
    )  # fmt: skip


class Refusing(FolderMailbox):
    def post(self, tables: Iterable[TableName]) -> None:
        raise Rejected(f"403 for {len([*tables])}")


@pytest.fixture
def ruled(source: SourceDatabase, dataset: EmulatedDataset, tmp_path: Path) -> CapturedScene:
    """A table of which one column lands as it is, beside the key."""
    source.run(
        "CREATE TABLE t (pin INT, id INT PRIMARY KEY, born DATE, mail VARCHAR(40) CHARACTER SET utf8mb4, name VARCHAR(9))",
        "INSERT INTO t VALUES (4711, 1, '1912-06-23', 'Zo\u00eb@example.org', 'a'), (4712, 2, NULL, NULL, NULL), "
        "(4713, 3, '1912-06-24', '', 'c')",
    )
    rules = ColumnRules("t", drop=("pin",), mask=("born",), hash=("mail",))
    policies = ColumnPolicies((PolicyRule("*", "*", Action.CLEAR),))
    return CapturedScene(source, dataset, tmp_path, {}, policies, LandingRules((rules,), KEY))


def test_a_table_is_compared_under_the_rules_of_its_columns(ruled: CapturedScene) -> None:
    ruled.land()
    found = ruled.compared()
    assert (found.outcome, found.notes) == ("same", ()), found.text
    written = "".join(path.read_text() for path in ruled.folder.rglob("*.json"))
    assert KEY.hash("Zo\u00eb@example.org".encode()) in written
    for value in ("example.org", "1912", "471", "pin"):
        # Within the digits of a digest a number may stand by chance.
        assert not re.search(rf"(?<![0-9a-f]){value}(?![0-9a-f])", written)
    ruled.source.run("UPDATE t SET pin = 1, born = '1906-12-09' WHERE id = 1")
    assert ruled.compared().outcome == "same", "neither column can be seen"
    ruled.source.run("UPDATE t SET mail = 'Zoe\u0308@example.org' WHERE id = 1", "UPDATE t SET mail = NULL WHERE id = 3")
    found = ruled.compared()
    assert (found.by_kind, found.chunks[0].columns) == ({DIFFERENT: 2}, ("mail",))


def test_values_that_should_not_have_landed_are_found_and_not_shown(ruled: CapturedScene) -> None:
    ruled.land()
    ruled.spoil_captured("UPDATE {} SET born = DATE '1912-06-23', mail = 'Zoe@example.org' WHERE id = 1")
    found = ruled.compared()
    assert found.chunks[0].columns == ("born", "mail")
    (born, mail) = sorted(found.chunks[0].findings)
    assert born.startswith("`born` does not match between MySQL (val=NULL) and BigQuery (val=hash ")
    assert mail.endswith('), in the row id="1"')
    assert not any(value in born + mail for value in ("1912", "example"))


def test_a_key_that_is_hashed_is_compared_by_its_hash(ruled: CapturedScene) -> None:
    ruled.columns = LandingRules((ColumnRules("t", hash=("id", "mail")),), KEY)
    ruled.land()
    found = ruled.compared(rows=1)
    assert (found.outcome, [chunk.rows for chunk in found.chunks]) == ("same", [3]), found.text
    ruled.source.run("UPDATE t SET name = 'other' WHERE id = 2", "DELETE FROM t WHERE id = 3")
    found = ruled.compared(rows=1)
    assert found.by_kind == {DIFFERENT: 1, ONLY_RIGHT: 1}


def test_no_value_is_read_or_shown_of_a_table_whose_rules_capture_alone_knows(
    ruled: CapturedScene, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rules follow a rename in capture, and onefold.yaml names the former column."""
    yaml = ruled.columns
    ruled.source.run("ALTER TABLE t CHANGE mail post VARCHAR(40) CHARACTER SET utf8mb4")
    ruled.columns = LandingRules((ColumnRules("t", drop=("pin",), mask=("born",), hash=("mail", "post")),), KEY)
    ruled.land()
    ruled.columns = yaml
    found = ruled.compared()
    assert (found.outcome, "the log of capture has rule_followed" in found.text) == ("skipped", True), found.text
    written = "".join(path.read_text() for path in ruled.folder.rglob("*") if path.is_file())
    assert "example.org" not in written + found.text + "".join(capsys.readouterr())


def test_rules_that_cannot_be_applied_fail_their_table_alone(
    ruled: CapturedScene, capsys: pytest.CaptureFixture[str]
) -> None:
    ruled.land()
    ruled.source.run("CREATE TABLE other (id INT PRIMARY KEY)")
    ruled.columns = LandingRules((ColumnRules("other", drop=("id",)),), KEY)
    report = ruled.check(captured=ruled.emulated.name, settle_seconds=0)
    assert {one.table: one.outcome for one in report.tables} == {"other": "failed", "t": "skipped"}
    assert "`drop` names id, a column of the key" in report.tables[0].text
    lines = [json.loads(line) for line in "".join(capsys.readouterr()).splitlines() if line.startswith("{")]
    assert {(one["table"], one["event"]) for one in lines if one["severity"] == "CRITICAL"} == {("other", "table_unchecked")}


def test_the_command_applies_the_rules_of_onefold_yaml(
    ruled: CapturedScene, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruled.land()
    address = ruled.source.server.address
    source = {
        "host": "127.0.0.1", "port": address.port, "user": address.user, "password": "env:SOURCE_PASSWORD",
        "tls": {"mode": "off"}, "databases": [ruled.source.name],
    }  # fmt: skip
    rules = {"tables": {"t": {"drop": ["pin"], "mask": ["born"], "hash": ["mail"]}}, "hash_key": "env:HASH_KEY"}
    config = tmp_path / "onefold.yaml"
    config.write_text(json.dumps({"sources": {CLUSTER: source}, "captures": {CLUSTER: rules}}))
    monkeypatch.setenv("SOURCE_PASSWORD", address.password)
    monkeypatch.setenv("HASH_KEY", KEY.secret.hex())
    monkeypatch.setenv("ONEFOLD_PULLED_FILES", tmp_path.as_uri())
    words = ("--config", config, "check", CLUSTER, ruled.source.name, "--captured", ruled.emulated.name)
    look = run(*words, "--dry-run", "--json").result
    assert (look["outcome"], look["reasons"]) == ("skipped", ["it would be compared, but for --dry-run"])
    assert "_checks" not in {table.table_id for table in ruled.emulated.client.list_tables(ruled.emulated.name)}
    done = run(*words, "--settle-seconds", 0, "--json")
    assert (done.code, [table["outcome"] for table in json.loads(done.out)["results"]]) == (0, ["same"]), done.err
    ruled.source.run("UPDATE t SET mail = 'other' WHERE id = 2")
    done = run(*words, "--settle-seconds", 0)
    assert (done.code, "values that do not match: 1; columns that differ: mail" in done.out) == (2, True)
