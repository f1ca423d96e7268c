"""The owners of onefold.yaml: read strictly, the most specific pattern decides, and an address is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.schema.diff import Severity
from onefold.settings.checked_form import form_text
from onefold.settings.environment import load_settings
from onefold.settings.owners import NO_OWNERS, Owner, Owners
from onefold.settings.yaml_loader import load_yaml

HOOK = "{webhook: 'env:HOOK', form: json}"


def read(tmp_path: Path, text: str) -> Owners:
    path = tmp_path / "onefold.yaml"
    path.write_text(text, encoding="utf-8")
    return load_settings({}, path).owners


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(InvalidSettings) as raised:
        read(tmp_path, text)
    return [problem.partition("onefold.yaml:")[2] for problem in raised.value.problems]


def notified(tmp_path: Path, text: str, table: str) -> list[str]:
    dataset, _, name = table.partition(".")
    return [one.pattern for one in read(tmp_path, text).of_table(dataset, name)]


def test_without_owners_nobody_is_notified(tmp_path: Path) -> None:
    for text in ("time_zone: UTC\n", "owners:\n", "owners: {}\n"):
        assert read(tmp_path, text) == NO_OWNERS


def test_an_owner_has_its_webhook_its_form_and_its_severity(tmp_path: Path) -> None:
    text = f"owners: {{'*': {HOOK}, shop.order*: {{webhook: projects/p/secrets/s, form: slack, severity: WARNING}}}}"
    assert read(tmp_path, text).all == (
        Owner("*", "env:HOOK", "json", Severity.INFO),
        Owner("shop.order*", "projects/p/secrets/s", "slack", Severity.WARNING),
    )


@pytest.mark.parametrize(
    ("table", "owners"),
    [
        ("shop.customer", ["*"]),
        ("crm.Orders", ["order*"]),
        ("shop.orders", ["shop.order*"]),
        ("crm.order_items", ["order*", "*items"]),
    ],
)
def test_the_most_specific_pattern_decides_and_of_equal_ones_both(tmp_path: Path, table: str, owners: list[str]) -> None:
    text = "".join(f"  '{one}': {HOOK}\n" for one in ("*", "order*", "shop.order*", "*items"))
    assert notified(tmp_path, f"owners:\n{text}", table) == owners


def test_a_table_that_no_pattern_names_has_no_owner(tmp_path: Path) -> None:
    assert notified(tmp_path, f"owners: {{shop.order: {HOOK}}}", "shop.orders") == []


def test_the_checked_form_has_the_owners(tmp_path: Path) -> None:
    path = tmp_path / "onefold.yaml"
    path.write_text(f"owners: {{'*': {HOOK}}}")
    form = tmp_path / "onefold.checked.json"
    form.write_text(form_text(path.read_bytes(), load_yaml(path).content))
    assert load_settings({}, form).owners == load_settings({}, path).owners != NO_OWNERS


def test_all_problems_are_reported_at_once_and_no_address_is_shown(tmp_path: Path) -> None:
    text = (
        "owners:\n"
        "  order: {webhook: 'https://hooks.example.org/T0/secret', form: slack}\n"
        "  customer: {form: teams, severity: LOW}\n"
        "  a b: {webhook: 'env:HOOK', form: json, channel: x}\n"
        "  Order: {webhook: 'env:HOOK', form: json}\n"
    )
    found = problems(tmp_path, text)
    assert [line.partition(",")[0].partition(";")[0] for line in found] == [
        "2: owners.order.webhook: expected projects/P/secrets/S",
        "3: owners.customer.form: expected slack or json",
        "3: owners.customer.severity: expected INFO",
        "3: owners.customer: expected a channel: `webhook` with its `form` (slack or json)",
        "4: owners.a b.channel: not a setting",
        "4: owners.a b: expected a pattern of tables",
        "5: owners.Order: given twice",
    ]
    assert "T0" not in "\n".join(found)


def test_two_owners_of_the_same_tables_are_refused(tmp_path: Path) -> None:
    assert problems(tmp_path, f"owners:\n  order: {HOOK}\n  Order: {HOOK}\n") == [
        "3: owners.Order: given twice; case makes no difference"
    ]
    assert problems(tmp_path, f"owners:\n  order: {HOOK}\n  '*.order': {HOOK}\n") == [
        "3: owners.*.order: names the tables that owners.order names: remove one of them"
    ]


def test_a_variable_has_the_owners_for_a_job_without_the_file(tmp_path: Path) -> None:
    text = '{"order*": {"webhook": "env:HOOK", "form": "json"}}'
    found = load_settings({"ONEFOLD_OWNERS": text}).owners
    assert found.all == (Owner("order*", "env:HOOK", "json"),)
    path = tmp_path / "onefold.yaml"
    path.write_text("owners: {'*': {webhook: 'env:HOOK', form: slack}}\n")
    with pytest.raises(InvalidSettings) as raised:
        load_settings({"ONEFOLD_OWNERS": text, "ONEFOLD_CAPTURES": "[a]"}, path)
    assert [str(one).partition(": ")[0] for one in raised.value.problems] == [
        "ONEFOLD_CAPTURES", "ONEFOLD_OWNERS and `owners` of onefold.yaml are both set",
    ]  # fmt: skip


def test_an_owner_may_be_a_topic(tmp_path: Path) -> None:
    (owner,) = read(tmp_path, "owners: {'*': {topic: projects/p/topics/changes, severity: CRITICAL}}").all
    assert owner == Owner("*", "", "json", Severity.CRITICAL, "projects/p/topics/changes")


def test_an_owner_may_be_an_address(tmp_path: Path) -> None:
    (owner,) = read(tmp_path, "owners: {'*': {email: data@example.com}}").all
    assert owner == Owner("*", "", "json", email="data@example.com")


def test_each_owner_has_one_channel_and_all_problems_are_reported(tmp_path: Path) -> None:
    text = (
        "owners:\n"
        "  order: {topic: changes}\n"
        "  customer: {webhook: 'env:HOOK'}\n"
        "  refund: {severity: INFO}\n"
        "  both: {webhook: 'env:HOOK', form: json, topic: projects/p/topics/changes}\n"
        "  form: {topic: projects/p/topics/changes, form: slack}\n"
        "  mail: {email: data at example.com}\n"
        "  three: {webhook: 'env:HOOK', form: json, topic: projects/p/topics/changes, email: data@example.com}\n"
        "  text: {email: data@example.com, form: json}\n"
    )
    no_channel = "expected a channel: `webhook` with its `form` (slack or json), `topic` or `email`, got a mapping"
    assert problems(tmp_path, text) == [
        "2: owners.order.topic: expected projects/PROJECT/topics/NAME, got 'changes'",
        f"3: owners.customer: {no_channel}",
        f"4: owners.refund: {no_channel}",
        "5: owners.both: names webhook and topic: remove all but one of them",
        "6: owners.form.form: a topic takes JSON only: remove form",
        "7: owners.mail.email: expected an address, as data@example.com, got 'data at example.com'",
        "8: owners.three: names webhook and topic and email: remove all but one of them",
        "9: owners.text.form: an e-mail has a form of its own: remove form",
    ]
