"""`onefold sources`: a draft that can be used as it is, and a check that finds every problem at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cli import Run
from support.database_servers import MariaDb, MySql
from support.source_database import SourceDatabase, on

from onefold.settings.environment import load_settings
from onefold.settings.sources import TableLoad, WatermarkColumn

pytestmark = on(MariaDb, MySql)
CHANGED = "at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"


@pytest.fixture(autouse=True)
def tables(source: SourceDatabase) -> None:
    source.run(
        f"CREATE TABLE changed (id INT PRIMARY KEY, {CHANGED}, KEY (at))",
        f"CREATE TABLE slow (id INT PRIMARY KEY, {CHANGED})",
        "CREATE TABLE event (id INT AUTO_INCREMENT PRIMARY KEY, text VARCHAR(20))",
        "CREATE TABLE payment (id INT AUTO_INCREMENT PRIMARY KEY, status VARCHAR(20), paid_at DATETIME, KEY (paid_at))",
        "CREATE TABLE `a[1]` (id INT PRIMARY KEY)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
        "CREATE TABLE keyless (a INT)",
        f"CREATE TABLE measured (size DOUBLE PRIMARY KEY, {CHANGED}, KEY (at))",
    )


def words(source: SourceDatabase) -> list[object]:
    address = source.server.address
    place = ["--host", address.host, "--port", address.port, "--user", address.user, "--password-from", "env:DB"]
    return ["sources", "init", "fraud", *place, "--tls", "off", "--database", source.name]


def test_a_draft_is_a_configuration_with_a_reason_for_each_table(
    run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DB", source.server.address.password)
    done = run(*words(source))
    assert done.code == 0, done.err
    assert done.out.startswith("# yaml-language-server: $schema=onefold/settings/onefold.schema.json\nsources:\n")
    config = tmp_path / "draft.yaml"
    config.write_text(done.out, encoding="utf-8")
    found = load_settings({}, config).sources["fraud"]
    assert {pattern.partition(".")[2]: load for pattern, load in found.tables.items()} == {
        "a[[]1]": TableLoad("full"),
        "changed": TableLoad("incremental", WatermarkColumn("at")),
        "event": TableLoad("full"),
        "payment": TableLoad("full"),
        "keyless": TableLoad("full"),
        "measured": TableLoad("full"),
        "other": TableLoad("full"),
        "slow": TableLoad("full"),
    }
    reasons = (
        "has an index and ON UPDATE", "never changed, `watermark: id` is right", "has no key; about 0 rows",
        "an index on at would allow", "its key has size, a floating-point number",
    )  # fmt: skip
    assert all(reason in done.out for reason in reasons)
    assert found.load_of(source.name, "a[1]") == TableLoad("full")
    assert run("--config", config, "sources", "check").code == 0


def test_a_mistyped_database_or_password_names_the_option_to_correct(
    run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DB", source.server.address.password)
    done = run(*words(source)[:-1], f"{source.name}x")
    near = f"the user sees no table of {source.name}x (did you mean {source.name}?): correct --database"
    assert (done.code, near in done.err) == (1, True), done.err
    monkeypatch.setenv("DB", "wrong")
    assert run(*words(source)).err.endswith(": correct --user or --password-from\n")


def test_the_choices_are_json_for_programs(run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB", source.server.address.password)
    found = run(*words(source), "--json").results
    assert {one["table"].partition(".")[2]: (one["mode"], one["watermark"]) for one in found} == {
        "a[1]": ("full", None),
        "changed": ("incremental", "at"),
        "event": ("full", None),
        "payment": ("full", None),
        "keyless": ("full", None),
        "measured": ("full", None),
        "other": ("full", None),
        "slow": ("full", None),
    }
    assert all(one["table"].startswith(f"{source.name}.") and one["reason"] for one in found)


def test_a_check_is_json_with_the_problems_of_each_source(
    run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = source.server.address
    monkeypatch.setenv("DB", address.password)
    place = f"host: {address.host}, port: {address.port}, user: {address.user}, tls: {{mode: off}}"
    (tmp_path / "onefold.yaml").write_text(
        f"""
sources:
  good: {{{place}, password: "env:DB", databases: [{source.name}]}}
  locked: {{{place}, password: "env:NOT_SET", databases: [a, b]}}
""",
        encoding="utf-8",
    )
    done = run("sources", "check", "--json")
    good, locked = done.results
    assert good == {"source": "good", "databases": [source.name], "errors": []}
    assert (locked["source"], locked["databases"], len(locked["errors"])) == ("locked", ["a", "b"], 1)
    assert (done.code, done.err) == (2, f"Error: {locked['errors'][0]}\n")
    assert run("sources", "check", "good", "--json").code == 0


def test_a_check_lists_all_problems(
    run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    address = source.server.address
    monkeypatch.setenv("DB", address.password)
    config = tmp_path / "onefold.yaml"
    config.write_text(
        f"""
sources:
  fraud:
    {{host: {address.host}, port: {address.port}, user: {address.user}, password: "env:DB", tls: {{mode: off}},
     time_zone: Asia/Kathmandu, databases: [{source.name}, nowhere],
     tables: {{slow: {{watermark: at}}, keyless: {{watermark: a}}, other: {{watermark: "no", drop: [id]}},
       gone_*: {{mode: full}}, EVENT: {{mode: full}},
       measured: {{watermark: at, drop: [AT_, card]}}, event: {{watermark: id, drop: [TEXT]}}}}}}
  away: {{host: {address.host}, port: 1, user: u, password: "env:DB", databases: [a]}}
  locked: {{host: h, user: u, password: "env:NOT_SET", databases: [a]}}
""",
        encoding="utf-8",
    )
    done = run("sources", "check")
    assert done.code == 2
    for text in (
        "time_zone is Asia/Kathmandu, now +05:45 from UTC",
        "sees no table of the database nowhere",
        "slow: the watermark at has no index",
        "keyless: expected a key for an incremental table",
        "other: the key has the column id, which `drop` names",
        "other: `drop` names every column",
        "there is no column no for the watermark",
        "tables.gone_* matches no table: correct",
        f"tables.EVENT matches no table, but would match {source.name}.event in another case: correct",
        "measured: measured: the key size is FLOAT64, which has no equality to group rows by: name other `keys`",
        "tables.measured.drop: no table that it matches has the column AT_: correct the name",
        "tables.measured.drop: no table that it matches has the column card: correct the name",
        "sources.away: u@",
        "sources.locked: the password is in the variable NOT_SET",
    ):
        assert done.err.count(text) == 1, (text, done.err)
    assert "event:" not in done.err
    assert "tables.event" not in done.err


@on(MariaDb)
def test_a_system_versioned_table_is_drafted_as_excluded_and_named_where_a_pattern_matches_it(
    run: Run, source: SourceDatabase, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DB", source.server.address.password)
    source.run("CREATE TABLE past (id INT PRIMARY KEY) WITH SYSTEM VERSIONING")
    done = run(*words(source))
    reason = "it is system-versioned, which pulls do not support"
    assert f'    exclude:\n      # {reason}\n      - "{source.name}.past"\n' in done.out
    config = tmp_path / "draft.yaml"
    config.write_text(done.out, encoding="utf-8")
    assert load_settings({}, config).sources["fraud"].load_of(source.name, "past") is None
    assert run("--config", config, "sources", "check").code == 0
    config.write_text(f"{done.out.partition('    tables:')[0]}    tables: {{'*': {{mode: full}}}}\n", encoding="utf-8")
    checked = run("--config", config, "sources", "check")
    assert (checked.code, checked.out) == (2, "")
    assert f"{source.name}.past: {reason}: name it under `exclude`" in checked.err


@pytest.mark.parametrize("content", [None, "tables: {}\n"], ids=["no file", "no sources"])
def test_a_check_of_no_source_is_an_error_that_says_what_to_do(run: Run, tmp_path: Path, content: str | None) -> None:
    if content:
        (tmp_path / "onefold.yaml").write_text(content, encoding="utf-8")
    done = run("sources", "check")
    assert done.code == 1
    assert "there is no source to check: run this command where onefold.yaml is" in done.err


def test_a_mistyped_source_gets_the_near_name(run: Run, tmp_path: Path) -> None:
    body = "{host: db, user: u, password: env:P, databases: [d], tables: {}}"
    (tmp_path / "onefold.yaml").write_text(f"sources: {{fraud: {body}}}", encoding="utf-8")
    assert "is named frad (did you mean fraud?)" in run("sources", "check", "frad").err


def test_an_unknown_source_is_an_error(run: Run) -> None:
    done = run("sources", "check", "fraud")
    assert (done.code, "no source of onefold.yaml is named fraud; it has none" in done.err) == (1, True)
