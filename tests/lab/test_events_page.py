"""The page "Events into tables": its commands run as they are written, in their order, with Spark and the stack."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from support.capture import eventually
from support.pages import EXPORT, ROOT, background, blocks, clean_environ, is_ready, run_script

from onefold.doctor.java import java_hint
from onefold_lab.processes import free_port

pytestmark = [pytest.mark.emulator, pytest.mark.spark, pytest.mark.long]
PAGE = ROOT / "docs" / "tutorials" / "events.md"
SERVER = "sh server"


@pytest.fixture
def environ() -> dict[str, str]:
    if hint := java_hint():
        pytest.skip(hint)
    return {**clean_environ(), "COLUMNS": "100", "JOBS": str(ROOT / "spark_jobs")}


def shows(command: str, word: str, folder: Path, environ: dict[str, str]) -> bool:
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, check=False)
    return word in done.stdout


def test_the_commands_of_the_page_run(environ: dict[str, str], tmp_path: Path) -> None:
    steps = blocks(PAGE, free_port(3))
    start = next(number for number, (kind, _) in enumerate(steps) if kind == SERVER)
    before = "".join(text for _, text in steps[:start])
    run_script(before, tmp_path, environ)
    output = tmp_path / "output"
    shown: list[str] = []
    with background(steps[start][1], tmp_path, environ, output) as process:
        eventually(lambda: is_ready(process, output))
        for _, text in steps[start + 1 :]:
            environ.update(EXPORT.findall(text))
            if text.startswith("onefold local query"):
                eventually(lambda text=text: shows(text, "socks", tmp_path, environ))  # type: ignore[misc]
            elif "onefold local query" in text:
                load, query = text.split("onefold local query")
                shown.append(run_script(load, tmp_path, environ))
                text = f"onefold local query{query}"
                eventually(lambda text=text: shows(text, "shoes", tmp_path, environ))  # type: ignore[misc]
            shown.append(run_script(text, tmp_path, environ))
        printed = set(EXPORT.findall(output.read_text()))
    assert printed < set(EXPORT.findall("".join(text for _, text in steps)))
    check_shown([text for text in shown if text])


def check_shown(shown: list[str]) -> None:
    shredded, loaded, first, schemas, second, view, again = shown
    run, *bad = [json.loads(line) for line in shredded.splitlines()]
    assert (run["tables"], run["bad"]) == ({"com_acme_ad_click_1": 1}, {"invalid": 1, "newer_version": 1})
    assert [(row["kind"], len(row["reasons"])) for row in bad] == [("invalid", 2), ("newer_version", 1)]
    assert "com_acme_ad_click_1: 1 row loaded, new table" in loaded
    assert re.search(r"1 +│ shoes +│ 5 ", first)
    assert "newsletter" not in first
    assert schemas.splitlines()[-2:] == ["exit code 1", "added iglu:com.acme/ad_click/jsonschema/2-0-0"]
    run, *lines = second.splitlines()
    assert json.loads(run)["tables"] == {"com_acme_ad_click_1": 1, "com_acme_ad_click_2": 1}
    assert "exit code 2" in lines
    assert any("com_acme_ad_click_1: 1 row loaded, with campaign" in line for line in lines)
    assert any("com_acme_ad_click_2: 1 row loaded, new table" in line for line in lines)
    for row in (r"1 +│ hats +│ 2 +│ newsletter", r"1 +│ shoes +│ 5 +│ NULL", r"2 +│ socks +│ a dozen +│ sale"):
        assert re.search(row, view), view
    assert again == "no run to load\n"
