"""The page "Events into tables": its commands run as they are written, in their order, with Spark and the stack."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.page_reader import Reader
from support.pages import ROOT, clean_environ

from onefold.doctor.java import java_hint

pytestmark = [pytest.mark.emulator, pytest.mark.spark, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "events.md"
SHOWS = {"clicks FROM events": "shoes", "campaign FROM events": "socks"}


def in_the_checkout(text: str) -> str:
    """Take the folder of the checkout for that of the first block, in which all others are apart."""
    return f"export JOBS={ROOT / 'spark_jobs'}\n" if "JOBS=" in text else text


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    if hint := java_hint():
        pytest.skip(hint)
    with ExitStack() as stack:
        reader = Reader(tmp_path, {**clean_environ(), "COLUMNS": "100"}, stack, SHOWS, in_the_checkout)
        check_shown([text for text in reader.read(PAGE) if text])


def check_shown(shown: list[str]) -> None:
    _, shredded, loaded, schemas, second, view, again = shown
    run, *bad = [json.loads(line) for line in shredded.splitlines()]
    assert (run["tables"], run["bad"]) == ({"com_acme_ad_click_1": 1}, {"invalid": 1, "newer_version": 1})
    assert [(row["kind"], len(row["reasons"])) for row in bad] == [("invalid", 2), ("newer_version", 1)]
    assert "com_acme_ad_click_1: 1 row loaded, new table" in loaded
    assert re.search(r"1 +│ shoes +│ 5 ", loaded)
    assert "newsletter" not in loaded
    assert schemas.splitlines()[-2:] == ["exit code 1", "added iglu:com.acme/ad_click/jsonschema/2-0-0"]
    run, *lines = second.splitlines()
    assert json.loads(run)["tables"] == {"com_acme_ad_click_1": 1, "com_acme_ad_click_2": 1}
    assert "exit code 2" in lines
    assert any("com_acme_ad_click_1: 1 row loaded, with campaign" in line for line in lines)
    assert any("com_acme_ad_click_2: 1 row loaded, new table" in line for line in lines)
    for row in (r"1 +│ hats +│ 2 +│ newsletter", r"1 +│ shoes +│ 5 +│ NULL", r"2 +│ socks +│ a dozen +│ sale"):
        assert re.search(row, view), view
    assert again == "no run to load\n"
