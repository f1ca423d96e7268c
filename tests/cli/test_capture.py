"""`onefold capture`: its options, what it refuses before it reads anything, and its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture_receiver import Receiver, receiving
from support.cli import Run
from support.database_servers import READER, DatabaseServer
from support.source_database import SourceDatabase
from test_docs import ROOT, events

from onefold.capture.checkpoint import Progress
from onefold.capture.copy_pace import CopyPace
from onefold.cli.capture import capture, check_names_of_capture
from onefold.cli.capture_options import address_of, options_from, server_id
from onefold.core.errors import InvalidInput, InvalidSettings
from onefold.core.versioned_names import VersionedNames
from onefold.mysql.binlog.events import LogPosition
from onefold.mysql.gtid import read_executed
from onefold.settings.environment import Settings

PLACES = ("--source", "shop-db", "--dataset", "shop", "--checkpoint", "state")


def parsed(*arguments: str) -> dict[str, Any]:
    """The options as the command has them."""
    address = ("--host", "db", "--user", "reader")
    return capture.make_context("capture", [*address, *PLACES, *arguments]).params


def test_the_password_comes_from_the_environment_or_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from the file\n")
    environ = {"ONEFOLD_SOURCE_PASSWORD": "from the environment"}
    assert address_of(parsed(), environ).password == "from the environment"
    assert address_of(parsed("--password-file", str(tmp_path / "secret")), environ).password == "from the file"
    assert "from" not in repr(address_of(parsed(), environ))


def test_all_problems_of_an_address_are_reported(tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    with pytest.raises(InvalidInput) as refused:
        address_of(parsed("--tls-key", str(tmp_path / "key"), "--tls-any-name"), {})
    assert len(refused.value.problems) == 3


@pytest.mark.parametrize(
    ("flags", "tls"),
    [
        ((), {}),
        (("--tls-ca",), {"ssl_verify_cert": True, "ssl_verify_identity": True}),
        (("--tls-ca", "--tls-any-name"), {"ssl_verify_cert": True, "ssl_verify_identity": False}),
    ],
)
def test_the_server_is_verified_if_a_certificate_authority_is_named(
    tmp_path: Path, flags: tuple[str, ...], tls: dict[str, Any]
) -> None:
    file = tmp_path / "ca.pem"
    file.touch()
    arguments = [part for flag in flags for part in ((flag, str(file)) if flag == "--tls-ca" else (flag,))]
    address = address_of(parsed(*arguments), {"ONEFOLD_SOURCE_PASSWORD": ""})
    assert dict(address.tls) == ({"ssl_ca": str(file), **tls} if tls else {})


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ((), None),
        (("--start", "mysql-bin.000123:4"), Progress(LogPosition(1, "mysql-bin.000123", 4))),
        (("--gtid", "0-1-5"), Progress(executed=read_executed("0-1-5"))),
    ],
)
def test_the_start_is_a_position_or_gtids(arguments: tuple[str, ...], start: Progress | None) -> None:
    assert options_from(parsed(*arguments)).start == start


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--start", "mysql-bin.000123"), "expected --start FILE:OFFSET"),
        (("--start", "log:4"), "expected the name of a binary log"),
        (("--gtid", "x"), "expected a set of GTIDs"),
        (("--gtid", "0-1-5", "--start", "b.1:4"), "only one of them"),
        (("--source", " "), "--source is empty"),
    ],
)
def test_an_invalid_start_is_refused(arguments: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        options_from(parsed(*arguments))


def test_copies_have_a_rate_and_a_window() -> None:
    found = options_from(parsed("--copy-rate", "2000", "--copy-window", "22:00-05:00 Europe/Berlin")).pace
    assert (found.rate, str(found.window)) == (2000, "22:00-05:00 Europe/Berlin")
    assert options_from(parsed()).pace == CopyPace()
    with pytest.raises(InvalidInput, match="--copy-window cannot be combined with --once"):
        options_from(parsed("--copy-window", "22:00-05:00", "--once"))


def test_rows_wait_for_others_as_long_as_the_option_says_or_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options_from(parsed()).flush_seconds == 0.5
    monkeypatch.setenv("ONEFOLD_FLUSH_SECONDS", "5")
    assert options_from(parsed()).flush_seconds == 5
    assert options_from(parsed("--flush-seconds", "0.1")).flush_seconds == 0.1
    for value in ("0", "61", "soon"):
        monkeypatch.setenv("ONEFOLD_FLUSH_SECONDS", value)
        with pytest.raises(click.UsageError, match=f"ONEFOLD_FLUSH_SECONDS={value}: "):
            parsed()


def test_each_source_has_its_own_large_server_id() -> None:
    numbers = {server_id(f"shop{number}") for number in range(100)}
    assert len(numbers) == 100
    assert all(1 << 31 <= number < 1 << 32 for number in numbers)
    assert server_id("shop1") == server_id("shop1")


def command(source: SourceDatabase, *arguments: str) -> tuple[str, ...]:
    address = ("capture", "--host", "127.0.0.1", "--port", str(source.server.port), "--user", READER)
    return (*address, "--include", source.name, *arguments)


@pytest.fixture(autouse=True)
def password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_SOURCE_PASSWORD", "")


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """Run topics that accept messages, next to the embedded BigQuery."""
    with receiving() as found:
        monkeypatch.setenv("PUBSUB_EMULATOR_HOST", found.pubsub_address)
        yield found


@pytest.fixture
def shop(dataset: EmulatedDataset, receiver: Receiver) -> EmulatedDataset:
    """A dataset named shop, and topics."""
    assert receiver.pubsub_address
    dataset.client.create_dataset("shop", exists_ok=True)
    return dataset


@pytest.mark.usefixtures("shop")
def test_problems_of_the_source_are_reported_before_anything_is_read(
    source: SourceDatabase, run: Run, tmp_path: Path
) -> None:
    source.run("SET GLOBAL binlog_format = MIXED", "SET GLOBAL binlog_row_image = MINIMAL")
    try:
        done = run(*command(source, *PLACES, "--once"))
    finally:
        source.run("SET GLOBAL binlog_format = ROW", "SET GLOBAL binlog_row_image = FULL")
    assert (done.code, done.err.count("SET GLOBAL")) == (1, 2)
    assert not (tmp_path / "state" / "checkpoint.json").exists()


@pytest.mark.usefixtures("shop")
def test_problems_of_single_tables_are_reported_and_stop_no_other_table(source: SourceDatabase, run: Run) -> None:
    source.run("CREATE TABLE t (a INT, `b c` INT, `b-c` INT)", "CREATE TABLE u (t VARCHAR(3) CHARACTER SET swe7)")
    done = run(*command(source, *PLACES, "--once"))
    quarantined = [line for line in map(json.loads, done.out.splitlines()) if line["event"] == "quarantined"]
    assert (done.code, [line["severity"] for line in quarantined]) == (0, ["CRITICAL", "CRITICAL"])
    assert "the columns 'b c' and 'b-c' would both be b_c" in quarantined[0]["reason"]
    assert "swe7" in quarantined[1]["reason"]


def test_capture_once_ends_at_once_if_there_is_nothing_to_read(
    source: SourceDatabase, shop: EmulatedDataset, run: Run, tmp_path: Path
) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY)")
    places = ("--source", "shop-db", "--dataset", shop.name, "--checkpoint", "state")
    assert run(*command(source, *places, "--once")).code == 0
    assert (tmp_path / "state" / "checkpoint.json").exists()
    other = run(*command(source, *places, "--once", "--source", "other"))
    assert (other.code, "expected a checkpoint of the source 'other', got one of the source 'shop-db'" in other.err) == (
        1,
        True,
    )


def test_a_start_with_fewer_rules_of_columns_ends_until_an_option_accepts_it(
    source: SourceDatabase, shop: EmulatedDataset, run: Run, tmp_path: Path
) -> None:
    source.run("CREATE TABLE t (id INT PRIMARY KEY, pin INT)")
    once = command(source, "--source", "shop-db", "--dataset", shop.name, "--checkpoint", "state", "--once")
    rules = tmp_path / "onefold.yaml"
    rules.write_text("captures: {shop-db: {tables: {t: {drop: [pin]}}}}")
    assert run(*once).code == 0
    rules.unlink()
    for more, code in (((), 1), (("--check",), 2)):
        ended = run(*once, *more)
        assert (ended.code, "onefold.yaml lacks drop t.pin" in " ".join(f"{ended.out}{ended.err}".split())) == (code, True)
    assert [run(*once, *more).code for more in (("--accept-fewer-rules",), ())] == [0, 0]


def test_tables_of_online_schema_changes_that_are_left_out_are_named(
    source: SourceDatabase, shop: EmulatedDataset, run: Run
) -> None:
    tables = ("_t_del", "_t_gho", "_t_new", "_t_old")
    source.run(*(f"CREATE TABLE {name} (id INT PRIMARY KEY)" for name in (*tables, "t")))
    places = ("--source", "shop-db", "--dataset", shop.name, "--checkpoint", "state")
    once = run(*command(source, *places, "--once"))
    (line,) = [one for one in map(json.loads, once.out.splitlines()) if one["event"] == "ghosts_left_out"]
    names = [f"{source.name}.{name}" for name in tables]
    assert (once.code, line["severity"], line["tables"]) == (0, "NOTICE", names)
    check = run(*command(source, *places, "--check", "--json"))
    (found,) = [one for one in check.result["checks"] if one["name"] == "tables"]
    assert f"1 captured; without those of online schema changes: {', '.join(names)}" in found["note"]


@pytest.mark.usefixtures("shop")
def test_patterns_that_no_table_fits_are_an_error_with_near_names(source: SourceDatabase, run: Run, tmp_path: Path) -> None:
    source.run("CREATE TABLE customer (id INT PRIMARY KEY)")
    typo = f"{source.name}.custmer"
    address = ("capture", "--host", "127.0.0.1", "--port", source.server.port, "--user", READER, "--include", typo)
    expected = f"no table that the user sees fits --include {typo}; near names are {source.name}.customer"
    once = run(*address, *PLACES, "--once")
    assert (once.code, expected in once.err) == (1, True)
    assert not (tmp_path / "state" / "checkpoint.json").exists()
    check = run(*address, *PLACES, "--check", "--json")
    (tables,) = [one for one in check.result["checks"] if one["name"] == "tables"]
    assert (check.code, expected in tables["problems"][0]) == (2, True)


def test_patterns_by_which_nothing_would_be_captured_any_more_are_a_problem_with_a_checkpoint_too(
    source: SourceDatabase, shop: EmulatedDataset, run: Run
) -> None:
    source.run("CREATE TABLE customer (id INT PRIMARY KEY)")
    places = ("--source", "shop-db", "--dataset", shop.name, "--checkpoint", "state", "--snapshot")
    assert run(*command(source, *places, "--once")).code == 0
    address = ("capture", "--host", "127.0.0.1", "--port", source.server.port, "--user", READER, "--include", "shpo")
    check = run(*address, *places, "--check", "--json")
    (tables,) = [one for one in check.result["checks"] if one["name"] == "tables"]
    assert (check.code, "no table that the user sees fits --include shpo" in str(tables["problems"])) == (2, True), tables


@pytest.mark.usefixtures("shop")
def test_one_pattern_of_several_that_no_table_fits_is_named_with_near_names(source: SourceDatabase, run: Run) -> None:
    source.run("CREATE TABLE customer (id INT PRIMARY KEY)", "CREATE TABLE item (id INT PRIMARY KEY)")
    typo = f"{source.name}.custmer"
    words = (*command(source, *PLACES), "--include", typo, "--include", f"{source.name}.item")
    expected = f"no table that the user sees fits --include {typo}; near names are "
    check = run(*words, "--check", "--json")
    (tables,) = [one for one in check.result["checks"] if one["name"] == "tables"]
    assert (check.code, tables["note"].startswith(f"2 captured; {expected}")) == (0, True), tables
    assert f"{source.name}.customer" in tables["note"]
    once = run(*words, "--once")
    (line,) = [one for one in map(json.loads, once.out.splitlines()) if one["event"] == "no_table_fits"]
    assert (once.code, line["severity"], line["reason"].startswith(expected)) == (0, "WARNING", True)


@pytest.mark.usefixtures("shop")
def test_a_server_that_does_not_answer_is_an_error(mariadb: DatabaseServer, run: Run) -> None:
    assert mariadb.port != 9
    done = run("capture", "--host", "127.0.0.1", "--port", 9, "--user", "root", *PLACES, "--once")
    assert (done.code, "the source does not answer" in done.err) == (1, True)
    checked = run("capture", "--host", "127.0.0.1", "--port", 9, "--user", "root", *PLACES, "--dry-run", "--json")
    assert (checked.code, checked.result["ok"]) == (1, False), "an error, and no finding: nothing is known of the source"


def test_every_event_of_the_log_of_capture_is_described() -> None:
    page = (ROOT / "docs" / "reference" / "log-events.md").read_text()
    paths = [path for package in ("capture", "mysql") for path in (ROOT / "onefold" / package).rglob("*.py")]
    found = set().union(*map(events, paths)) | {"table_truncated", "table_dropped", "table_renamed"}
    assert len(found) >= 14
    for event in found:
        assert f"`{event}`" in page, f"describe the event {event} in docs/reference/log-events.md"


def test_capture_refuses_a_dataset_whose_pattern_does_not_match_its_tables() -> None:
    registry = VersionedNames("(?P<base>.+)_(?P<version>[0-9]+)")
    settings = Settings(dataset_names={"events": registry, "crm": VersionedNames(exclude=(".*",))})
    with pytest.raises(InvalidSettings, match=r"version_pattern of dataset events .* customer_v_123abcdef"):
        check_names_of_capture(settings, "events")
    check_names_of_capture(settings, "shop")
    check_names_of_capture(settings, "crm")


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("capture", "give --password-from env:NAME, file:PATH or projects/P/secrets/S, or set ONEFOLD_SOURCE_PASSWORD."),
        ("schema list", "give --password-from env:NAME, file:PATH or projects/P/secrets/S."),
    ],
)
def test_an_option_for_a_password_is_refused_with_the_ways_to_give_one(run: Run, command: str, advice: str) -> None:
    done = run(*command.split(), "--password", "my-secret")
    assert (done.code, advice in " ".join(done.err.split()), "my-secret" in done.err) == (1, True, False), done.err


def test_json_needs_check(run: Run) -> None:
    done = run("capture", "--host", "db", "--user", "reader", *PLACES, "--json")
    assert (done.code, "add --check" in done.err) == (1, True)
