"""The contracts of onefold.yaml: read strictly, the most specific pattern decides each key, and nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.core.names import TableId
from onefold.schema.contract_rules import Contract, Contracts, Verdicts
from onefold.settings.checked_form import form_text
from onefold.settings.environment import load_settings
from onefold.settings.yaml_loader import load_yaml

ID, OTHER = "0123456789abcdef" * 2, "f" * 32


def read(tmp_path: Path, text: str) -> Contracts:
    path = tmp_path / "onefold.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings({}, path).contracts


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    return [problem.partition("onefold.yaml:")[2] for problem in raised.value.problems]


def of(contracts: Contracts, dataset: str, table: str) -> tuple[str, str, str]:
    found = contracts.of_table(TableId("p", dataset, table))
    return found.new_columns, found.types, found.dropped


def test_without_contracts_everything_is_shown(tmp_path: Path) -> None:
    for text in ("time_zone: UTC\n", "contracts:\n", "contracts: {}\n"):
        assert of(read(tmp_path, text), "shop", "orders") == ("show", "widen", "keep")


def test_the_most_specific_pattern_decides_each_key(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        'contracts:\n  "*": {new_columns: hide, dropped: warn}\n  "order*": {types: review}\n'
        "  shop.orders: {new_columns: show}\n",
    )
    assert of(found, "shop", "orders") == ("show", "review", "warn")
    assert of(found, "other", "ORDERS") == ("hide", "review", "warn")
    assert of(found, "shop", "customer") == ("hide", "widen", "warn")


def test_of_patterns_of_equal_rank_the_stricter_value_decides(tmp_path: Path) -> None:
    for first, second in (("hide", "review"), ("review", "hide")):
        text = f'contracts: {{"order*": {{new_columns: {first}}}, "*items": {{new_columns: {second}}}}}'
        assert of(read(tmp_path, text), "shop", "order_items")[0] == "hide"
    text = 'contracts: {"order*": {types: keep}, "*items": {types: review}}'
    assert of(read(tmp_path, text), "shop", "order_items")[1] == "keep"


def test_a_pattern_of_event_schemas_names_no_table_and_the_other_way_round(tmp_path: Path) -> None:
    found = read(tmp_path, 'contracts: {"com.acme/*": {types: refuse, new_columns: refuse}, "*": {types: keep}}')
    assert found.of_schema("com.acme", "order").types == "refuse"
    assert found.of_schema("com.other", "order") == Contract()
    assert of(found, "com", "acme") == ("show", "keep", "keep")


def test_decisions_are_about_a_change_or_a_column_of_it(tmp_path: Path) -> None:
    text = f'contracts: {{"order*": {{new_columns: review, decisions: {{"{ID}": accept, "{OTHER}": {{Fax: reject}}}}}}}}'
    contract = read(tmp_path, text).of_table(TableId("p", "shop", "orders"))
    assert contract.verdicts == Verdicts({(ID, ""): "accept", (OTHER, "fax"): "reject"})
    assert contract.verdicts.about(OTHER, "FAX.code") == "reject"
    assert contract.verdicts.about(OTHER, "faxes") is None


def test_a_decision_of_the_file_comes_before_any_other_of_its_change() -> None:
    file, table = (
        Verdicts({("a", ""): "reject", ("b", "x"): "reject"}),
        Verdicts({("a", "x"): "accept", ("b", ""): "accept"}),
    )
    both = file.over(table)
    assert [both.about("a", "x"), both.about("b", "x"), both.about("b", "y")] == ["reject", "reject", "accept"]


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    text = (
        'contracts:\n  "a b": {types: keep}\n  order: {types: narrow, new_colums: hide}\n  customer: review\n'
        f"  shop.log: {{decisions: {{abc: accept, {OTHER}: perhaps}}}}\n"
        '  com.acme/x: {new_columns: hide, types: keep, dropped: warn}\n  "*": {new_columns: refuse, types: refuse}\n'
        f'  ORDER: {{decisions: {{"{ID}": accept}}}}\n  item: {{decisions: {{"{ID}": reject}}}}\n'
    )
    assert problems(tmp_path, text) == [
        "2: contracts.a b: expected a pattern of tables, as order* or shop.order, or of event schemas, as acme.com/order*, "
        "got 'a b'",
        "3: contracts.order.types: expected widen, keep, review or refuse, got 'narrow'",
        "3: contracts.order.new_colums: not a setting (did you mean new_columns?); known are decisions, dropped, "
        "new_columns, types",
        "4: contracts.customer: expected keys of a contract, as in `new_columns: review`, got a text",
        f"5: contracts.shop.log.decisions.{OTHER}: expected accept or reject, or one of both for each column, as {{email: "
        "reject}, got 'perhaps'",
        "5: contracts.shop.log.decisions.abc: expected the identifier of a change, which has 32 hexadecimal digits, got "
        "'abc'",
        "6: contracts.com.acme/x.new_columns: a registry takes a schema or refuses it: write show or refuse, or name "
        "tables, as order*",
        "6: contracts.com.acme/x.types: a registry takes a schema or refuses it: write widen or refuse, or name tables, as "
        "order*",
        "6: contracts.com.acme/x.dropped: is of tables, not of event schemas: remove it",
        "7: contracts.*.new_columns: a table cannot refuse what lands: write show, hide or review, or name event schemas, "
        "as acme.com/order*",
        "7: contracts.*.types: a table cannot refuse what lands: write widen, keep or review, or name event schemas, "
        "as acme.com/order*",
        "8: contracts.ORDER: given twice; case makes no difference",
        f"9: contracts.item.decisions.{ID}: reject, but another pattern says accept: remove one of them",
    ]


def test_the_checked_form_gives_the_same_contracts(tmp_path: Path) -> None:
    text = f'contracts: {{"order*": {{types: review, decisions: {{"{ID}": {{x: accept}}}}}}}}'
    found = read(tmp_path, text)
    form = tmp_path / "onefold.checked.json"
    form.write_text(form_text(text.encode(), load_yaml(tmp_path / "onefold.yaml").content), "utf-8")
    assert load_settings({}, form).contracts == found
