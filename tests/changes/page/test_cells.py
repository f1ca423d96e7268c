"""The cells of the picture: what the unified view does with a column of a version, as a table of sentences."""

from __future__ import annotations

import pytest
from support.columns import columns

from onefold.changes.page.cells import CellForm, PageColumn, Picture
from onefold.changes.page.held import HeldChange
from onefold.changes.page.hidden import HiddenColumns
from onefold.schema.table_rules import TableRules
from onefold.schema.types import parse_type
from onefold.schema.versions import Version, active_versions, fold

A = Version("a", columns(id="INT64", born="DATE"))
B = Version("b", columns(Id="INT64", born="TIMESTAMP", price="STRING"))


def pictured(
    *versions: Version, rules: TableRules | None = None, without: str = "", **more: object
) -> dict[str, PageColumn]:
    chosen = rules or TableRules()
    view = [column for column in fold(active_versions(versions, chosen), chosen) if column.name != without]
    found = Picture(versions, view, chosen, **more).columns()  # type: ignore[arg-type]
    return {column.name: column for column in found}


def cell(column: PageColumn, version: int) -> CellForm:
    return column.forms[column.cells[version]]


@pytest.mark.parametrize(
    ("column", "version", "form"),
    [
        ("id", 0, CellForm("same", "INT64", "INT64 here and in the view: shown as it is.", "v.`id`")),
        (
            "id",
            1,
            CellForm(
                "renamed",
                "INT64",
                "Spelled Id here, and id in the view: names are compared without case.",
                "v.`Id` AS `id`",
            ),
        ),
        (
            "born",
            0,
            CellForm("cast", "DATE", "DATE becomes TIMESTAMP: every value is kept.", "TIMESTAMP(v.`born`, 'UTC') AS `born`"),
        ),
        (
            "price",
            0,
            CellForm(
                "absent",
                "",
                "This version has no such column: its rows show NULL.",
                "CAST(NULL AS INT64) AS `price`",
            ),
        ),
        (
            "price",
            1,
            CellForm(
                "lossy",
                "STRING",
                "STRING becomes INT64. STRING to INT64: a value that does not fit becomes NULL or is rounded.",
                "SAFE_CAST(v.`price` AS INT64) AS `price`",
            ),
        ),
    ],
    ids=["same", "renamed", "cast", "absent", "lossy"],
)
def test_a_cell_says_what_the_view_does_by_which_rule_and_by_which_sql(column: str, version: int, form: CellForm) -> None:
    rules = TableRules(types=(("price", parse_type("INT64")),))
    assert cell(pictured(A, B, rules=rules)[column], version) == form


def test_the_column_of_the_version_is_written_by_the_view_for_each_version() -> None:
    found = pictured(A, B, rules=TableRules(version_column="v"))["v"]
    assert [cell(found, place).kind for place in (0, 1)] == ["default", "default"]
    assert cell(found, 1).sql == "'b' AS `v`"
    assert found.type == "STRING"


def test_of_a_retired_version_no_row_is_read_and_its_columns_are_there_all_the_same() -> None:
    found = pictured(A, B, rules=TableRules(retired=frozenset({"b"})))
    assert [cell(found["price"], place).kind for place in (0, 1)] == ["absent", "retired"]
    assert (found["price"].type, cell(found["price"], 1).type) == ("", "STRING")
    assert cell(found["born"], 0).kind == "same"


def test_columns_are_in_the_order_of_the_view_and_then_those_that_it_does_not_show() -> None:
    assert list(pictured(A, B, without="born")) == ["id", "price", "born"]


def test_a_new_column_that_waits_is_said_with_the_change_that_somebody_has_to_accept() -> None:
    found = pictured(A, B, without="price", held=(HeldChange("price", is_waiting=True, id="9f"),))["price"]
    assert (found.type, cell(found, 0).kind, cell(found, 1).kind) == ("", "absent", "waiting")
    assert cell(found, 1).rule == "A new column, which no view shows until somebody accepts the change 9f."


def test_a_type_that_waits_says_which_type_the_view_keeps() -> None:
    rules = TableRules(types=(("born", parse_type("DATE")),))
    found = pictured(A, B, rules=rules, held=(HeldChange("born", is_waiting=True, id="9f"),))["born"]
    assert [cell(found, place).kind for place in (0, 1)] == ["same", "waiting"]
    assert cell(found, 1).rule == (
        "TIMESTAMP here: the view keeps DATE, and shows NULL for what does not fit, until somebody accepts the change 9f."
    )


def test_a_column_that_a_contract_hides_waits_for_nobody() -> None:
    found = pictured(A, B, without="price", held=(HeldChange("price", is_waiting=False),))["price"]
    assert cell(found, 1) == CellForm(
        "hidden", "STRING", "The unified view does not show this column, by the contract of the table."
    )


S = Version("a", columns(s="STRUCT<x INT64>"))
NEW_FIELD = Version("b", columns(s="STRUCT<x INT64, y STRING>"))
DEEP = Version("c", columns(s="STRUCT<x STRING, d STRUCT<z DATE, Q DATE>>"))
SHOWN = columns(s="STRUCT<x INT64, d STRUCT<z DATE>>")


@pytest.mark.parametrize(
    ("held", "kinds", "rule"),
    [
        ([("s.y", "9f"), ("s.d.Q", "9f")], ["cast", "waiting", "waiting"],
         "s.d.Q is a new field, which no view shows until somebody accepts the change 9f."),
        ([("s.x", "9f")], ["cast", "lossy", "waiting"],
         "s.x has another type here: the view keeps its own, and shows NULL for what does not fit, until somebody accepts "
         "the change 9f."),
        ([("s.y", ""), ("s.d.q", "")], ["cast", "hidden", "lossy"],
         "STRUCT<x STRING, d STRUCT<z DATE, Q DATE>> becomes STRUCT<x INT64, d STRUCT<z DATE>>. "
         "STRING to INT64: a value that does not fit becomes NULL or is rounded. Field Q is left out."),
    ],
)  # fmt: skip
def test_a_field_that_a_contract_holds_is_no_loss(held: list[tuple[str, str]], kinds: list[str], rule: str) -> None:
    changes = [HeldChange(path, bool(id_), id_) for path, id_ in held]
    (found,) = Picture((S, NEW_FIELD, DEEP), SHOWN, held=changes).columns()
    assert [found.kind(place) for place in range(3)] == kinds
    assert cell(found, 2).rule == rule


LIST = Version("b", columns(s="ARRAY<STRUCT<x INT64, y STRING>>"))
LATER = Version("c", columns(S="ARRAY<STRUCT<x INT64, y STRING>>"))
TEXT = Version("d", columns(s="STRING"))


def test_each_cell_names_the_change_of_its_version() -> None:
    held = [
        HeldChange("s.y", True, "y2", "b"),
        *(HeldChange("s", True, f"s{one.id}", one.id) for one in (LIST, LATER, TEXT)),
    ]
    (found,) = Picture((S, LIST, LATER, TEXT), columns(s="STRUCT<x INT64>"), held=held).columns()
    rules = [cell(found, place).rule for place in range(4)]
    assert [found.kind(place) for place in range(4)] == ["same", "waiting", "waiting", "waiting"]
    assert [[one for one in ("y2", "sb", "sc", "sd") if f"change {one}." in rule] for rule in rules] == [
        [], ["y2", "sb"], ["y2", "sc"], ["sd"],
    ]  # fmt: skip


def test_a_struct_with_a_new_field_does_not_wait_for_a_later_text() -> None:
    held = [HeldChange("s.y", True, "y2", "b"), HeldChange("s", True, "sd", "d")]
    (found,) = Picture((S, NEW_FIELD, TEXT), columns(s="STRUCT<x INT64>"), held=held).columns()
    assert ("y2" in cell(found, 1).rule, "sd" in cell(found, 1).rule, "sd" in cell(found, 2).rule) == (True, False, True)


def test_without_a_view_nobody_knows_what_becomes_of_a_column() -> None:
    (id_, born, price) = Picture((A, B), None).columns()
    assert [cell(one, 1).kind for one in (id_, born, price)] == ["unknown", "unknown", "unknown"]
    assert cell(price, 0).kind == "absent"


def test_of_a_hidden_column_there_is_the_name_alone_whether_a_version_has_it_or_not() -> None:
    hidden = HiddenColumns({"price": "A policy masks it."})
    found = pictured(A, B, hidden=hidden)["price"]
    assert found == PageColumn("price", "", (CellForm("hidden", "", "A policy masks it."),), (0, 0))


def test_of_a_struct_with_a_hidden_field_neither_sql_nor_losses_are_shown() -> None:
    struct = Version("a", columns(address="STRUCT<zip INT64, city STRING>"))
    text = Version("b", columns(address="STRUCT<zip STRING, city STRING>"))
    rules = TableRules(types=(("address.zip", parse_type("INT64")),))
    found = pictured(struct, text, rules=rules, hidden=HiddenColumns(fields=frozenset({"address.zip"})))["address"]
    assert found.type == "STRUCT<zip hidden, city STRING>"
    assert cell(found, 1).kind == "lossy"
    assert all((form.sql, "INT64" in form.rule + form.type) == ("", False) for form in found.forms)


def test_versions_that_are_alike_share_one_form() -> None:
    many = [Version(f"v{number}", A.columns) for number in range(900)]
    (id_, born) = Picture(many, A.columns).columns()
    assert (len(id_.forms), len(born.forms), id_.cells) == (1, 1, (0,) * 900)
