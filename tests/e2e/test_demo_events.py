"""The demo of events as a person runs it: schemas change while real runs of the shredder are made and loaded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from e2e.test_demo import WITHOUT_JAVA, run_demo
from support.cli import Run

from onefold.doctor.java import java_hint


def parts(shown: str) -> list[str]:
    """What the demo shows under each of its numbered headings."""
    return re.split(r"^\d .*─\n", shown, flags=re.MULTILINE)[1:]


def rows(shown: str) -> list[list[str]]:
    """The rows of the tables in a text."""
    return [re.split(r" *│ *", line)[1:-1] for line in shown.splitlines() if line.startswith("│")]


@pytest.mark.long
@pytest.mark.skipif(java_hint() is not None, reason=str(java_hint()))
@pytest.mark.emulator
@pytest.mark.spark
def test_the_demo_shreds_and_loads_while_the_schema_changes(tmp_path: Path) -> None:
    # The settings of the user, and a file of settings in the folder, have no effect.
    (tmp_path / "onefold.yaml").write_text("sources: {fraud: 1}")
    shown = run_demo(tmp_path, "--events", COLUMNS="110", ONEFOLD_VIEW_NAME="{table}_all")
    assert 90 <= len(shown.splitlines()) <= 110, shown
    tables, race, again, refused, recovery = parts(shown)

    assert rows(tables) == [["shoes", "5", "autumn, sale"], ["hats", "1", ""]]
    # Every reason of one event, although one of them would do.
    assert '\n    iglu:com.acme/ad_click/jsonschema/1-0-0: /ad: 7 is not of type "string"\n' in tables
    assert '\n    iglu:com.acme/ad_click/jsonschema/1-0-0: /clicks: "many" is not of type "integer"\n' in tables
    assert "\n  unreadable: not an event\n" in tables
    assert "\n  com_acme_page_1: created, 1 row\n" in tables

    # 1-0-1 was there before the rows were loaded, and its column was not.
    assert race.index("1-0-1 is added, after the job has read the registry") < race.index("load-shredded")
    assert '\n  newer_version: 1-0-1 {"ad": "shoes", "clicks": 3, "campaign": "black friday"}\n' in race
    assert "\n  com_acme_ad_click_1: as it was, 1 row\n" in race
    assert race.count("has no column campaign yet") == 2

    assert "\n  com_acme_ad_click_1: gets campaign, 2 rows\n" in again
    assert again.count("has the column campaign") == 2
    assert "\n  bad, newer_version" not in again

    assert "\n  /self/version: 1-0-4 leaves a gap: use 1-0-2 or 1-1-0 or 2-0-0\n" in refused
    assert "1-0-2 claims ADDITION: add it as 2-0-0, or keep the type\n" in refused

    (table,) = set(re.findall(r"com_acme_ad_click_1_0_2_recovered_[0-9a-f]{8}", shown))
    assert f"\n  {table}: created, 1 row; a recovery table, which the log reports as CRITICAL\n" in recovery
    assert rows(recovery) == [
        ["1", "shoes", "5", "NULL"],
        ["1", "hats", "1", "NULL"],
        ["1", "shoes", "2", "NULL"],
        ["1", "shoes", "3", "black friday"],
        ["1", "hats", "8", "newsletter"],
        [f"1r{table[-8:]}", "shoes", "a dozen", "NULL"],
        ["2", "hats", "13", "newsletter"],
    ]
    assert "com_acme_ad_click_unified has each of the 7 good events once." in recovery
    assert list(tmp_path.iterdir()) == [tmp_path / "onefold.yaml"]


def test_without_java_the_demo_says_how_to_install_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in WITHOUT_JAVA.items():
        monkeypatch.setenv(name, value)
    done = run("demo", "--events")
    assert (done.code, done.out) == (1, "")
    assert "Spark's batches need Java" in done.err


@pytest.mark.parametrize("others", [["--source", "mysql://u@h"], ["--fast"], ["--full"], ["--once"], ["--loads"]])
def test_the_demo_of_events_takes_no_other_option(run: Run, others: list[str]) -> None:
    done = run("demo", "--events", *others)
    assert (done.code, "is a demo of its own" in done.err) == (1, True)
