"""`onefold changes page`, over tables and views in the embedded BigQuery, and its pages in a real browser."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.browser import Visitor
from support.cli import Run
from support.in_memory import ABC, DEF


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> EmulatedDataset:
    """A table of two versions with a view and a row, and one whose view is missing."""
    dataset.land("customer_v_abc", ABC)
    dataset.land("customer_v_def", DEF)
    dataset.land("secrets_v_1", {"id": "INT64", "word": "STRING"}, "1, 'a value that is in no page'")
    done = run("refresh", f"{dataset.name}.customer")
    assert done.code == 0, done.err
    return dataset


def written(run: Run, shop: EmulatedDataset, *words: str) -> Path:
    done = run("changes", "page", shop.name, "--page", "pages", *words)
    assert done.code == 0, done.err
    return Path("pages", f"dataset-{shop.name}.html").absolute()


def test_a_page_shows_the_tables_as_they_are_in_the_warehouse(run: Run, shop: EmulatedDataset, visit: Visitor) -> None:
    seen = visit(written(run, shop))
    assert seen.texts("#tables tbody th") == ["secrets", "customer"]
    seen.find("#tables a", "customer").click()
    seen.find("#name", "customer").wait_for()
    assert seen.texts("#grid .name") == ["column", "id", "first_name", "last_name", "full_name", "email"]
    assert ["".join(row.split("\n")[1:-1]) for row in seen.texts("#grid .row:not(.head)")] == [
        "C·", "··", "··", "·–", "–·",
    ]  # fmt: skip
    assert seen.texts("#below table tbody th")[:1] == ["unified"]
    (change,) = seen.texts("#below .changes li")
    assert [line for line in change.splitlines() if line][1:] == [
        "retyped id INT64 -> STRING",
        "removed full_name STRING",
        "added email STRING",
    ]
    assert seen.said == []


def test_freshness_says_how_far_the_capture_of_a_checkpoint_is_behind(
    run: Run, shop: EmulatedDataset, visit: Visitor
) -> None:
    shop.land("address_v_1", {"id": "INT64", "datastream_metadata": "STRUCT<uuid STRING>"})
    Path("shop-db").mkdir()
    checkpoint = {"dataset": shop.name, "as_of": int(time.time()) - 2 * 86_400}
    Path("shop-db", "checkpoint.json").write_text(json.dumps(checkpoint))
    page = written(run, shop, "--checkpoint", "shop-db")
    (lag,) = re.findall(r'"lag":(\d+)', page.read_text("utf-8"))  # of the captured table alone
    assert int(lag) >= 2 * 86_400
    seen = visit(page)
    seen.find("#tables a", "address").click()
    seen.find("#name", "address").wait_for()
    assert any("Capture behind the source" in text and "2 d" in text for text in seen.texts("#below"))


def test_a_checkpoint_that_is_not_there_is_a_warning(run: Run, shop: EmulatedDataset) -> None:
    done = run("changes", "page", shop.name, "--page", "pages", "--checkpoint", "nowhere")
    assert done.code == 0
    assert "there is no checkpoint in nowhere" in done.err


def test_an_empty_checkpoint_is_refused_before_anything_is_read(run: Run) -> None:
    done = run("changes", "page", "shop", "--page", "pages", "--checkpoint", "")
    assert (done.code, Path("pages").exists()) == (1, False)
    assert "--checkpoint is empty: name the folder" in done.err


def test_no_value_of_a_row_is_in_a_page(run: Run, shop: EmulatedDataset) -> None:
    text = written(run, shop).read_text("utf-8")
    assert "word" in text
    assert "a value that is in no page" not in text


def test_a_column_that_a_policy_hides_has_nothing_but_its_name(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("policies:\n  secrets:\n    id: clear\n    word: mask\n", "utf-8")
    text = written(run, shop).read_text("utf-8")
    (secrets,) = [line for line in text.split('{"name":') if line.startswith('"secrets"')]
    assert (
        '["word","",[["hidden","","A policy masks this column in the clean view: only its name is shown here.",""]]'
        in secrets
    )
    assert '["id","INT64",[["same","INT64"' in secrets


def test_the_short_form_is_the_same_command_and_a_look_writes_nothing(run: Run, shop: EmulatedDataset) -> None:
    look = run("changes", "--page", "pages", "--dataset", shop.name, "--dry-run", "--json")
    assert look.code == 0, look.err
    assert look.result == {"dataset": shop.name, "file": f"pages/dataset-{shop.name}.html", "tables": 2}
    assert not Path("pages").exists()
    assert run("changes", "--page=pages", shop.name).code == 0
    assert Path(look.result["file"]).exists()


def test_a_dataset_that_is_gone_is_an_error_that_stops_no_other_and_its_page_says_so(
    run: Run, shop: EmulatedDataset
) -> None:
    written(run, shop)
    index = Path("pages/index.html")
    index.write_text(index.read_text("utf-8").replace(shop.name, "gone_since"), "utf-8")
    done = run("changes", "page", "gone_since", shop.name, "--page", "pages", "--json")
    assert (done.code, [entry["dataset"] for entry in done.results]) == (1, [shop.name])
    assert "gone_since" in " ".join(done.json["errors"])
    assert "This dataset was not found" in Path("pages/dataset-gone_since.html").read_text("utf-8")


def test_a_table_is_refused_because_a_page_is_of_a_whole_dataset(run: Run) -> None:
    refused = run("changes", "page", "shop.customer", "--page", "pages")
    assert (refused.code, "write `onefold changes page shop`" in refused.err) == (1, True)
