"""The page "From another tool's tables to a clean view": its commands run as they are written, in their order."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.page_reader import Reader
from support.pages import ROOT, clean_environ

pytestmark = [pytest.mark.emulator, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "existing-dataset.md"


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    with ExitStack() as stack:
        _, _, found, draft, views, clean, _ = Reader(tmp_path, {**clean_environ(), "COLUMNS": "160"}, stack).read(PAGE)
    assert "3 tables, 2 with history, 3 without a known key" in found
    assert draft.count("keys: [id]") == 2
    assert "0 up to date, 4 to change" in views
    assert re.findall(r"│ ([0-9]) +│ (Ada|Bob|paid|new|5|7.5) +│", views) == [("1", "Ada"), ("1", "paid"), ("1", "7.5")]
    assert re.search(r"1 +│ NULL +│ [0-9a-f]{64} +│", clean)
    assert not re.search("Ada|ada@|paid", clean.partition("reads 0 B")[2])
