"""The page of a dataset in a real browser: what it shows, by mouse, keyboard and on paper, and what it never asks for."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.browser import DARK, DESK, PHONE, Visitor
from support.page_shop import HOSTILE, NOW, customer, shop, wide

from onefold.adapters.folder_objects import FolderObjects
from onefold.changes.page.dataset import PageReader, PageView
from onefold.changes.page.index import INDEX
from onefold.changes.page.write import write_pages

MOST_NODES = 3_500
"""Elements of a page, whatever the size of its tables. All cells of the wide table would be 270,000."""
PICTURE = """
    _version    –DDDD  STRING
    id          XCC··  STRING
    full_name   X·R––  STRING
    born        –C···  TIMESTAMP
    ssn         HHHHH  hidden
    score       ––L··  INT64
    email       –––··  STRING
    nickname    ––––W  not shown
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("pages")
    write_pages(FolderObjects(found), str(found), [shop(wide())], [], NOW)
    return found


@pytest.fixture
def page(folder: Path) -> Path:
    return folder / "dataset-shop.html"


def picture(visit: Any) -> str:
    """The picture as it is shown: the name, the letters and the type of each column."""
    rows = []
    for row in visit.find("#grid .row:not(.head)").all():
        name, *cells, type_ = row.locator("[data-at]").all_inner_texts()
        rows.append(f"    {name:12}{''.join(cells)}  {type_}")
    return "\n" + "\n".join(rows) + "\n"


def test_the_picture_has_columns_down_versions_across_and_the_type_of_the_view_at_the_end(
    visit: Visitor, page: Path
) -> None:
    seen = visit(page, "customer")
    assert picture(seen) == PICTURE
    heads = [text.split()[0] for text in seen.texts("#grid .version")]
    assert heads == ["0f3ac81d2", "5b6ffe5fb", "77aa01c3e", "c0ffee123", "e91d0c77b"]


def test_kinds_differ_in_colour_as_well_as_in_their_letter(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    colours = seen.run(
        "Object.fromEntries([...document.querySelectorAll('#grid .cell:not(.version)')].map("
        "(cell) => [cell.textContent, getComputedStyle(cell).backgroundColor + getComputedStyle(cell).color]))"
    )
    assert len(colours) == len(set(colours.values())) == len("·CL–RDHWX")


def test_hovering_says_the_rule(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    seen.find("#grid .k-lossy").hover()
    told = seen.find("#tip").inner_text()
    assert told == (
        "score in version 77aa01c3e\n"
        "lossy. STRING becomes INT64. STRING to INT64: a value that does not fit becomes NULL or is rounded."
    )


def test_a_click_shows_the_sql_of_the_view_and_the_statement_of_the_source(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    seen.find("#grid [data-at='2 4']").click()
    blocks = seen.texts("#detail pre")
    assert blocks == [
        "SELECT v.`id`\nFROM `acme.shop.customer_v_c0ffee123` AS v",
        "ALTER TABLE customer MODIFY id VARCHAR(36), DROP COLUMN Full_Name, ADD email VARCHAR(320)",
    ]
    seen.find("#grid [data-at='5 4']").click()
    assert "It is not shown." in seen.find("#detail").inner_text()


def test_below_the_picture_are_changes_views_readers_checks_freshness_and_versions(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    assert seen.texts("#below h2") == ["Changes", "Views", "Readers", "Checks", "Freshness", "Versions"]
    told = seen.find("#below").inner_text()
    for text in ("retyped id INT64 -> STRING", "it lacks the version e91d0c77b", "acme.reports.newsletter", "maybe",
                 "accepted on", "Rows repaired\n3", "Before this page\n3 hours", "the source\n42 seconds",
                 "4,007"):  # fmt: skip
        assert text in told, text


def test_tables_are_found_by_their_name_and_by_that_of_a_column(visit: Visitor, page: Path) -> None:
    seen = visit(page)
    assert seen.texts("#tables tbody th") == ["customer", HOSTILE, "metrics"]
    seen.find("#search").fill("METR")
    assert seen.texts("#tables tbody th") == ["metrics"]
    seen.find("#search").fill("email")
    assert seen.texts("#tables tbody th") == ["customer column email"]
    seen.find("#search").fill("no such")
    assert seen.find("#tables").inner_text() == "No table has such a name, nor a column of it."
    seen.find("#search").fill("")
    seen.find("#attention").check()
    assert seen.texts("#tables tbody th") == ["customer"]
    assert seen.find("#count").inner_text() == "1 of 3 tables"


def test_columns_are_chosen_by_their_name_and_by_kinds(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    seen.find("#legend button", has_text="lossy").click()
    assert seen.texts("#grid .name") == ["column", "score"]
    seen.find("#legend button", has_text="renamed").click()
    assert seen.texts("#grid .name") == ["column", "full_name", "score"]
    seen.find("#columns").fill("SCO")
    assert seen.texts("#grid .name") == ["column", "score"]
    assert seen.find("#shown").inner_text() == "1 of 8 columns, 5 versions"


def test_the_keyboard_reaches_every_cell_and_what_it_says(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    seen.find("#grid").focus()
    seen.press("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight")
    assert seen.active == "cast: INT64 becomes STRING: every value is kept."
    seen.press("End", "ArrowLeft")
    assert seen.active == "same: STRING here and in the view: shown as it is."
    seen.press("Control+Home", "ArrowRight")
    assert seen.active == "version 0f3ac81d2, 2026-01-05 09:30 UTC, retired"
    seen.press("Control+End", "ArrowLeft")
    assert seen.active.startswith(
        "waiting: A new column, which no view shows until somebody accepts the change 9d2c41f0a7b35e86"
    )
    seen.press("PageUp", "ArrowLeft", "Enter")
    assert seen.run("document.activeElement.textContent") == "_version in version c0ffee123"


def test_the_tab_key_goes_through_the_page_from_top_to_bottom_and_shows_where_it_is(visit: Visitor, page: Path) -> None:
    seen = visit(page, "customer")
    places = []
    for _ in range(15):
        seen.press("Tab")
        places.append(seen.run("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
        outline = seen.run("getComputedStyle(document.activeElement).outlineWidth")
        assert outline == "3px", places
    assert places[:4] == ["Skip to the content", "Onefold", "All tables of shop", "columns"]
    assert places.index("grid") == 13
    seen.find("#grid").focus()
    seen.press("ArrowDown")
    assert seen.run("getComputedStyle(document.querySelector('#grid .active')).outlineStyle") == "solid"


@pytest.mark.parametrize("how", [DESK, DARK, PHONE], ids=["light", "dark", "phone"])
def test_axe_finds_nothing(visit: Visitor, page: Path, folder: Path, how: dict[str, Any]) -> None:
    seen = visit(page, **how)
    assert seen.violations() == []
    seen.open(page, "customer")
    seen.find("#grid [data-at='2 4']").click()
    assert seen.violations() == []
    seen.open(folder / INDEX)
    assert seen.violations() == []


@pytest.mark.parametrize("table", ["", "customer", "metrics"])
def test_a_phone_never_scrolls_sideways(visit: Visitor, page: Path, table: str) -> None:
    seen = visit(page, table, **PHONE)
    assert seen.overflow == 0
    if table:
        seen.find(f"#grid [data-at='1 {5 if table == 'customer' else 900}']").tap()
        assert seen.overflow == 0


def test_names_of_300_letters_do_not_make_the_page_wider_than_a_phone(visit: Visitor, tmp_path: Path) -> None:
    long = "n" * 300
    table, (change, *_) = customer(), customer().changes
    table = replace(
        table, name=long, problems=(f"{long}: a problem",), readers=(PageReader(long, "view", f"acme.{long}.v", 1),),
        views=(PageView("unified", f"acme.shop.{long}_unified", "up to date"),),
        changes=(replace(change, operations=(f"added {long} STRING",), effects=(f"{long}: hidden",), tenant=long),),
        columns=(replace(table.columns[0], name=long, type=f"STRUCT<{long} STRING>"), *table.columns[1:]),
        versions=tuple(replace(one, id=long[:200], table=f"acme.shop.{long}") for one in table.versions),
    )  # fmt: skip
    write_pages(FolderObjects(tmp_path), str(tmp_path), [replace(shop(table), warnings=(long,))], [], NOW)
    seen = visit(tmp_path / "dataset-shop.html", **PHONE)
    assert (seen.find("#tables a", has_text=long).count(), seen.overflow) == (1, 0)
    seen.find("#tables a", has_text=long).tap()
    seen.find("#name", has_text=long).wait_for()
    assert seen.overflow == 0
    seen.find("#grid [data-at='1 5']").tap()
    assert (seen.find("#detail h2").count(), seen.overflow) == (1, 0)


def test_of_300_columns_in_900_versions_only_those_in_sight_are_in_the_document(visit: Visitor, page: Path) -> None:
    seen = visit(page, "metrics")
    assert seen.find("#grid").get_attribute("aria-rowcount") == "301"
    assert seen.find("#grid").get_attribute("aria-colcount") == "902"
    assert seen.nodes < MOST_NODES
    seen.find("#grid").focus()
    seen.press("Control+End", "ArrowLeft")
    assert seen.texts("#grid .row .name")[-1] == "metric_298"
    assert seen.find("#grid .active").get_attribute("id") == "c300-900"
    seen.press("Control+Home", "ArrowDown", "ArrowRight")
    assert seen.active == "same: INT64 here and in the view: shown as it is."
    assert seen.nodes < MOST_NODES
    seen.run("document.getElementById('grid').scrollTo(9000, 4000)")
    seen.find("#grid [data-at='160 360']").wait_for()
    assert seen.nodes < MOST_NODES


def test_the_newest_versions_are_in_sight_at_first(visit: Visitor, page: Path) -> None:
    seen = visit(page, "metrics")
    assert seen.texts("#grid .version")[-1].startswith(f"{899:09x}")


def test_the_page_asks_for_nothing_and_says_nothing_in_the_console(visit: Visitor, page: Path, folder: Path) -> None:
    seen = visit(page)
    for table in ("customer", "metrics"):
        seen.find("#tables a", has_text=table).click()
        seen.find("#grid [data-at='1 1'], #grid .cell").first.click()
        seen.find(".back a").click()
    seen.find(".brand a").click()
    seen.find("tbody a").click()
    assert {request.partition("#")[0] for request in seen.requests} == {page.as_uri(), (folder / INDEX).as_uri()}
    assert seen.said == []
    cut = visit(page, "%E0%A4%A")
    assert (cut.find("#tables").is_visible(), cut.said) == (True, [])


def test_nothing_can_be_fetched_or_run_that_is_not_of_the_page(visit: Visitor, page: Path) -> None:
    seen = visit(page)
    assert seen.run("fetch('https://example.com/').then(() => 'sent', () => 'refused')") == "refused"
    seen.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert seen.run("window.ran") is None
    assert [request for request in seen.requests if not request.startswith("file:")] == []


def test_a_name_that_is_markup_stays_a_text(visit: Visitor, page: Path) -> None:
    seen = visit(page)
    seen.find("#tables a", has_text="onerror").click()
    seen.find("#name", has_text=HOSTILE).wait_for()
    assert seen.find("#name").inner_text() == HOSTILE
    assert seen.find("img").count() == 0
    assert seen.said == []


def test_on_paper_the_picture_does_not_scroll_and_what_is_left_out_is_said(visit: Visitor, page: Path) -> None:
    seen = visit(page, "metrics")
    seen.page.emulate_media(media="print")
    seen.run("window.dispatchEvent(new Event('beforeprint'))")
    assert seen.find("#printed p").first.inner_text() == "Printed: the newest 36 of 900 versions."
    assert seen.find("#printed tbody tr").count() == 300
    assert not seen.find("#grid").is_visible()
    assert not seen.find("#columns").is_visible()
    assert seen.page.pdf()[:5] == b"%PDF-"
    seen.run("window.dispatchEvent(new Event('afterprint'))")
    assert seen.find("#printed tr").count() == 0


@pytest.mark.parametrize(("days", "is_stale"), [(1, False), (3, True)])
def test_a_page_says_how_old_it_is_and_an_old_one_stands_out(
    visit: Visitor, tmp_path: Path, days: int, is_stale: bool
) -> None:
    written = datetime.now(UTC) - timedelta(days=days, hours=1)
    write_pages(FolderObjects(tmp_path), str(tmp_path), [shop(written_at=written)], [], written)
    seen = visit(tmp_path / "dataset-shop.html")
    assert (f"{24 * days + 1} hours ago" if days == 1 else f"{days} days ago") in seen.find(".written").inner_text()
    assert ("stale" in (seen.find("body").get_attribute("class") or "")) == is_stale


def test_a_dataset_that_is_gone_has_a_page_that_says_so(visit: Visitor, tmp_path: Path) -> None:
    store = FolderObjects(tmp_path)
    write_pages(store, str(tmp_path), [shop()], [], NOW)
    write_pages(store, str(tmp_path), [], ["shop"], NOW + timedelta(days=1))
    seen = visit(tmp_path / INDEX)
    assert seen.texts("tbody td")[-1] == "not found on 2026-11-28 03:00 UTC"
    seen.find("tbody a").click()
    seen.find("main", has_text="This dataset was not found on 2026-11-28 03:00 UTC.").wait_for()
    assert customer().name not in seen.page.content()
    assert (seen.violations(), seen.said) == ([], [])
