"""Pages as files: what is in them and what is not, the index, and runs one after the other or at once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.page_shop import HOSTILE, NOW, SECRET_TYPE, customer, shop, wide

from onefold.adapters.folder_objects import FolderObjects
from onefold.changes.page.compact import page_json, runs
from onefold.changes.page.document import SCRIPTS, asset, dataset_html
from onefold.changes.page.index import INDEX, IndexRow, index_rows
from onefold.changes.page.write import write_pages
from onefold.core.errors import TryAgain
from onefold.ports.objects import NEW, ObjectChanged, StoredObject

MOST_LINES = 220
MOST_CHARACTERS = 120_000
"""Of a page without data: it is loaded from a bucket, also by a phone."""


@dataclass
class MemoryObjects:
    """Objects in memory with generations. `between` is called once before a write that has a condition."""

    files: dict[str, StoredObject] = field(default_factory=dict)
    between: Any = None
    refused: str = ""

    def find(self, address: str) -> StoredObject | None:
        return self.files.get(address)

    def write(self, address: str, data: bytes, generation: int | None = None) -> int:
        if self.refused and address.endswith(self.refused):
            raise TryAgain(f"{address}: no answer")
        if generation is not None and self.between:
            between, self.between = self.between, None
            between()
        present = self.files[address].generation if address in self.files else NEW
        if generation not in (None, present):
            raise ObjectChanged(f"{address} has changed")
        self.files[address] = StoredObject(data, present + 1)
        return present + 1


def rows(store: MemoryObjects) -> dict[str, IndexRow]:
    return {row.dataset: row for row in index_rows(store.files[f"f/{INDEX}"].data.decode())}


def test_nothing_of_a_hidden_column_is_in_the_page_but_its_name() -> None:
    html = dataset_html(shop())
    assert "ssn" in html
    assert SECRET_TYPE not in html


def test_the_page_is_one_file_that_names_no_other() -> None:
    html = dataset_html(replace(shop(), tables=(customer(),)))
    assert re.findall(r"""(?:src|href)=["']?([^"'\s>]+)""", html) == [
        "data:,",
        "#main",
        "index.html",
        "#",
    ]
    assert "url(" not in html
    assert "@import" not in html
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def test_no_text_of_the_data_ends_the_script_that_holds_it() -> None:
    html = dataset_html(shop())
    assert html.count("</script>") == 2
    (data,) = re.findall(r'id="data">(.*?)</script>', html, re.DOTALL)
    assert json.loads(data)["tables"][1]["name"] == HOSTILE


def test_a_wide_table_is_small_because_cells_are_runs() -> None:
    text = page_json(replace(shop(), tables=(wide(),)))
    assert len(text) < 300_000  # of 270,000 cells
    assert list(runs([0] * 900)) == [0, 900]


def test_scripts_and_style_stay_small() -> None:
    lines = {name: asset(name).count("\n") for name in (*SCRIPTS, "page.css")}
    assert not {name: count for name, count in lines.items() if count > MOST_LINES}
    assert len(dataset_html(replace(shop(), tables=()))) < MOST_CHARACTERS


def test_the_index_counts_tables_by_what_needs_attention() -> None:
    store = MemoryObjects()
    assert write_pages(store, "f/", [shop()], [], NOW) == ["dataset-shop.html", INDEX]
    assert rows(store) == {
        "shop": IndexRow("shop", "acme", "2026-11-27T03:00:00Z", tables=2, waiting=1, lossy=1, problems=1)
    }


def test_a_page_of_another_run_stays_and_keeps_its_date_and_the_index_says_that_it_is_older() -> None:
    store = MemoryObjects()
    write_pages(store, "f", [shop()], [], NOW)
    before = store.files["f/dataset-shop.html"]
    later = NOW + timedelta(days=1)
    write_pages(store, "f", [replace(shop(), dataset="crm", written_at=later)], [], later)
    assert store.files["f/dataset-shop.html"] == before
    assert [row.written[:10] for row in rows(store).values()] == ["2026-11-28", "2026-11-27"]
    index = store.files[f"f/{INDEX}"].data.decode()
    assert re.findall(r"<td>([^<]*)</td></tr>", index) == [
        "written by the last run", "older: the last run did not write it",
    ]  # fmt: skip


def test_the_page_of_a_dataset_that_is_gone_says_so_until_the_dataset_is_there_again() -> None:
    store = MemoryObjects()
    write_pages(store, "f", [shop()], [], NOW)
    later = NOW + timedelta(days=1)
    assert write_pages(store, "f", [], ["shop", "never"], later) == ["dataset-shop.html", INDEX]
    page = store.files["f/dataset-shop.html"].data.decode()
    assert "This dataset was not found on 2026-11-28 03:00 UTC." in page
    assert "customer" not in page
    write_pages(store, "f", [], ["shop"], later + timedelta(days=1))
    assert rows(store)["shop"].gone == "2026-11-28T03:00:00Z"
    write_pages(store, "f", [shop()], [], later)
    assert (rows(store)["shop"].gone, set(rows(store))) == ("", {"shop"})


def test_two_runs_at_once_keep_the_rows_of_both() -> None:
    store = MemoryObjects()
    other = replace(shop(), dataset="crm")
    store.between = lambda: write_pages(store, "f", [other], [], NOW)
    write_pages(store, "f", [shop()], [], NOW)
    assert set(rows(store)) == {"crm", "shop"}


def test_the_index_is_written_last_so_that_it_names_no_page_that_is_not_there() -> None:
    store = MemoryObjects(refused="dataset-shop.html")
    with pytest.raises(TryAgain):
        write_pages(store, "f", [shop()], [], NOW)
    assert store.files == {}


def test_an_index_that_somebody_else_wrote_is_replaced(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_text('<script type="application/json" id="pages">[{"a": 1}]</script>')
    write_pages(FolderObjects(tmp_path), str(tmp_path), [shop()], [], NOW)
    (row,) = index_rows((tmp_path / INDEX).read_text())
    assert row.tables == 2
    assert {path.name for path in tmp_path.glob("*.html")} == {INDEX, "dataset-shop.html"}


def test_a_table_of_the_page_counts_its_columns_by_kind() -> None:
    one = customer()
    assert {kind: one.with_kind(kind) for kind in ("lossy", "waiting", "hidden", "default", "unknown")} == {
        "lossy": 1, "waiting": 1, "hidden": 1, "default": 1, "unknown": 0,
    }  # fmt: skip
