"""Log lines are whole, even where several threads write."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.seeding import examples
from support.turns import at_once

from onefold.core.log import json_line, log

CLOUD_LOGGING = 256 * 1024
"""The size of the largest entry of Cloud Logging, its own fields included."""


def test_a_line_is_one_json_object_without_fields_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    log("INFO", "done\nand published", event="refreshed", dataset=None, versions=2)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line) == {"severity": "INFO", "message": "done\nand published", "event": "refreshed", "versions": 2}


def test_long_lines_of_many_threads_stay_whole(capfd: pytest.CaptureFixture[str]) -> None:
    at_once(*[lambda: [log("INFO", "x" * 20_000) for _ in range(20)]] * 8)  # type: ignore[func-returns-value]
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 160
    assert all(len(json.loads(line)["message"]) == 20_000 for line in lines)


# Long lines


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"changes": [{"path": "x" * 100, "old": None}] * 5_000, "calls": 3}, {"changes": 5_000}),
        ({"query": "SELECT 1 AS id, " * 60_000}, {"query": 960_000}),
        (
            {"announcement": {"view": "p.d.v", "changes": [{"old": "STRUCT<a INT64>" * 500}] * 200}},
            {"announcement.changes": 200},
        ),
        ({"reason": "ü" * 90_000, "other": "é" * 90_000}, {"reason": 90_000, "other": 90_000}),
        ({"names": {str(number): number for number in range(50_000)}}, {"names": None}),
    ],
)
def test_a_line_that_cloud_logging_would_refuse_is_cut_with_the_number_of_what_is_missing(
    fields: dict[str, Any], left: dict[str, int | None]
) -> None:
    line = json_line("ERROR", "refused", fields)
    assert CLOUD_LOGGING // 3 < len(line.encode()) < CLOUD_LOGGING - 4_096, "cut, with room for fields of Cloud Logging"
    entry = json.loads(line)
    assert (entry["severity"], entry["message"]) == ("ERROR", "refused")
    assert set(entry["left_out"]) == set(left)
    for path, whole in left.items():
        value: Any = entry
        for name in path.split("."):
            value = value[name]
        assert entry["left_out"][path] > 0
        assert whole is None or len(value) + entry["left_out"][path] == whole
    assert {name: entry[name] for name in ("calls",) if name in fields} == {
        name: fields[name] for name in ("calls",) if name in fields
    }


def test_a_line_that_fits_is_not_cut() -> None:
    for size in (0, 10_000, 249_000):
        entry = json.loads(json_line("INFO", "done", {"query": "x" * size}))
        assert entry == {"severity": "INFO", "message": "done", "query": "x" * size}


_LONG = st.integers(0, 20_000).map(lambda size: "\N{OLD ITALIC LETTER A}" * size)
_VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | _LONG,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=10,
)


@settings(max_examples=examples(25))
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), _VALUES))
def test_every_line_fits_and_is_json(fields: dict[str, Any]) -> None:
    line = json_line("INFO", "done", fields)
    assert len(line.encode()) < CLOUD_LOGGING
    assert json.loads(line)["message"] == "done"


# For people


def test_the_log_is_text_where_the_setting_says_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_LOG", "text")
    log(
        "WARNING",
        "shop.customer: view\x1b[2J updated",
        event="refreshed",
        versions=2,
        reason="x",
        changes=[],
        sql="S" * 1_000,
    )
    line = capsys.readouterr().out
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d WARNING  shop\.customer: view\\x1b\[2J updated \[refreshed\] versions=2 sql=S{200}…\n", line
    )


@pytest.mark.parametrize(("form", "is_json"), [(None, False), ("text", False), ("json", True)])
def test_a_terminal_gets_text_unless_the_setting_says_json(form: str | None, is_json: bool) -> None:
    """A terminal of its own, as a person has it."""
    ours, theirs = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name != "ONEFOLD_LOG"}
    environ |= {"ONEFOLD_LOG": form} if form else {}
    script = "from onefold.core.log import log; log('INFO', 'done', event='copied')"
    subprocess.run([sys.executable, "-c", script], stdout=theirs, env=environ, check=True)
    os.close(theirs)
    line = os.read(ours, 10_000).decode()
    os.close(ours)
    assert line.startswith("{") == is_json
    assert "done" in line
