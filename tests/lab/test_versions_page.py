"""The page "From two versions to a clean view": its commands run as they are written, in their order."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.page_reader import Reader
from support.pages import ROOT, clean_environ

pytestmark = [pytest.mark.emulator, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "versions-to-a-clean-view.md"


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    with ExitStack() as stack:
        _, _, unified, current, _, clean, _ = Reader(tmp_path, {**clean_environ(), "COLUMNS": "160"}, stack).read(PAGE)
    assert len(re.findall(r"2 +│ Grace +│ (?:NULL|Arlington)", unified)) == 2
    assert re.findall(r"([12]) +│ (\w+) +│ (\w+)", current) == [("1", "Ada", "NULL"), ("2", "Grace", "Arlington")]
    assert re.findall(r"([12]) +│ NULL +│ [0-9a-f]{64} +│", clean) == ["1", "2"]
    assert not re.search("Ada|Grace|@|Arlington", clean)
