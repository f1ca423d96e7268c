"""The pages of the tools: their example is drafted and shown as each page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.pages import ROOT, fenced

from onefold.existing.recognise import tools

REFERENCE = ROOT / "docs" / "reference"
PAGES = {path.stem: path.read_text() for path in sorted((REFERENCE / "existing").glob("*.md"))}
ELSEWHERE = {"Onefold", "Datastream"}


def block(page: str, language: str) -> str:
    (found,) = (text for kind, text in fenced(page) if kind == language)
    return found


def shown(page: str) -> tuple[str, list[list[str]]]:
    """Return the name of the view at the end of a page, and its rows, the names of the columns first."""
    view = re.findall(r"`shop__onefold\.(\w+)` shows$", page, re.MULTILINE)[-1]
    header, _, *rows = page.rpartition(" shows\n\n")[2].strip().splitlines()
    return view, [[cell.strip() for cell in row.strip("|").split("|")] for row in (header, *rows)]


@pytest.mark.emulator
def test_each_example_is_drafted_and_shown_as_its_page_says(
    run: Run, dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEFOLD_PLAIN_DATASET")
    own = f"{dataset.name}__onefold"
    dataset.client.create_dataset(own)
    for page in PAGES.values():
        for statement in block(page, "sql").replace("shop.", f"{dataset.name}.").split(";\n"):
            if statement.strip():
                dataset.run(statement)
    assert run("discover", dataset.name, "--output", "onefold.yaml").code == 0
    draft = Path("onefold.yaml").read_text()
    for name, page in PAGES.items():
        assert block(page, "yaml").replace('"shop.', f'"{dataset.name}.') in draft, name
    Path("onefold.yaml").write_text(draft.replace("# keys: [COLUMN]", "keys: [id]"))
    done = run("refresh", f"{dataset.name}.*")
    assert (done.code, "Skipped" in done.err) == (0, False), done.err
    for name, page in PAGES.items():
        view, (columns, *rows) = shown(page)
        found = dataset.run(f"SELECT {', '.join(columns)} FROM {own}.{view}")
        assert sorted([str(value) for value in row] for row in found) == sorted(rows), name
        every = dataset.client.query(f"SELECT * FROM {own}.{view}").result()
        assert [column.name for column in every.schema] == columns, name


def test_each_tool_has_a_page_and_the_one_page_for_all_links_each() -> None:
    named = " ".join(page.splitlines()[0] for page in PAGES.values())
    assert [tool.name for tool in tools() if tool.name not in ELSEWHERE and tool.name not in named] == []
    links = re.findall(r"\(existing/(\w+)\.md\)", (REFERENCE / "existing-tables.md").read_text())
    assert sorted(links) == sorted(PAGES)
