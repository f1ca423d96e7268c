"""Log lines are whole, even where several threads write."""

from __future__ import annotations

import json
import threading

import pytest

from onefold.core.log import log


def test_a_line_is_one_json_object_without_fields_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    log("INFO", "done\nand published", event="refreshed", dataset=None, versions=2)
    line = capsys.readouterr().out
    assert line.count("\n") == 1
    assert json.loads(line) == {"severity": "INFO", "message": "done\nand published", "event": "refreshed", "versions": 2}


def test_long_lines_of_many_threads_stay_whole(capfd: pytest.CaptureFixture[str]) -> None:
    threads = [
        threading.Thread(target=lambda: [log("INFO", "x" * 20_000) for _ in range(20)])  # type: ignore[func-returns-value]
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 160
    assert all(len(json.loads(line)["message"]) == 20_000 for line in lines)
