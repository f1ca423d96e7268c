"""One message about a version keeps the clean view of a table, where onefold.yaml has policies."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from google.api_core.exceptions import GoogleAPICallError
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.clean_shop import BY_ID, KEY, CleanShop, policies
from support.functions import RefreshView
from support.merge_shop import Shop

from onefold.changelog.metadata import LANDED_AT
from onefold.core.errors import SettingsChanged
from onefold.core.hash_key import HashKey
from onefold.ports.warehouse import StoredView, ViewDraft
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.views.clean import waiting_columns
from onefold.views.clean_kind import CleanKind
from onefold.views.policy_check import check_policies
from onefold.views.reconcile import reconcile
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

CUSTOMER = {"id": "INT64", "email": "STRING", "note": "STRING", LANDED_AT: "TIMESTAMP"}


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A version with one row."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    shop.land("a1", change("INSERT", "1", id=1, email="ada@example.com", note="n"))
    return shop


@pytest.fixture
def clean(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    """The datasets of clean views and keys, with a key."""
    made = CleanShop(dataset, monkeypatch)
    made.write_key()
    return made


@pytest.mark.usefixtures("shop")
def test_a_message_writes_the_clean_view(clean: CleanShop) -> None:
    function = clean.function(id="clear", email="hash")
    function.deliver("a1")
    assert clean.rows() == [(1, KEY.hash(b"ada@example.com"), None)]
    assert waiting_columns(clean.view().query) == ("note",)
    assert function.announced("customer") == [("view created", "INFO"), ("undecided note", "WARNING")]


@pytest.mark.usefixtures("shop")
def test_without_policies_there_is_no_clean_view(
    dataset: EmulatedDataset, clean: CleanShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    RefreshView(dataset, monkeypatch, rules=BY_ID).deliver("a1")
    assert clean.stored() is None


def test_a_new_version_brings_its_columns_masked(clean: CleanShop, shop: Shop) -> None:
    function = clean.function(id="clear", email="hash", note="drop")
    function.deliver("a1")
    shop.create("b2", {**CUSTOMER, "phone": "STRING"})
    shop.land("b2", change("INSERT", "2", id=2, email=None, note="m", phone="030"))
    function.deliver("b2")
    assert clean.rows() == [(1, KEY.hash(b"ada@example.com"), None), (2, None, None)]
    assert function.announced("customer")[1:] == [("added phone", "INFO"), ("undecided phone", "WARNING")]
    function.deliver("b2")
    assert len(function.announced("customer")) == 3


@pytest.mark.usefixtures("shop")
def test_a_second_message_takes_the_shortcut(clean: CleanShop, capsys: pytest.CaptureFixture[str]) -> None:
    function = clean.function(id="clear")
    function.deliver("a1")
    etag = clean.view().etag
    capsys.readouterr()
    function.deliver("a1")
    (line,) = [one for one in map(json.loads, capsys.readouterr().out.splitlines()) if one["event"] == "clean_refreshed"]
    assert (line["shortcut"], clean.view().etag) == (True, etag)


def test_missing_dataset_is_logged_once_and_stops_nothing(
    dataset: EmulatedDataset, shop: Shop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    function = RefreshView(dataset, monkeypatch, rules=BY_ID, policies=policies(id="clear"))
    function.deliver("a1")
    function.deliver()
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (line,) = [one for one in found if one["event"] == "no_clean"]
    assert f"dataset {dataset.name}__views_clean does not exist" in line["message"]
    assert shop.current() == [{"id": 1, "email": "ada@example.com", "note": "n"}]


def test_table_without_a_key_has_no_clean_view(
    dataset: EmulatedDataset, clean: CleanShop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Shop(dataset).create("a1", CUSTOMER)
    RefreshView(dataset, monkeypatch, policies=policies(id="clear")).deliver("a1")
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (line,) = [one for one in found if one["event"] == "no_clean"]
    assert "customer_current does not exist" in line["message"]
    assert clean.stored() is None


@pytest.mark.usefixtures("shop")
def test_policies_that_change_are_written_by_the_next_message(clean: CleanShop) -> None:
    clean.function(id="clear").deliver("a1")
    assert clean.rows() == [(1, None, None)]
    clean.function(id="clear", note="clear").deliver("a1")
    assert clean.rows() == [(1, None, "n")]


@pytest.mark.parametrize(("column", "named"), [("pr\u00e9nom", "pre\u0301nom"), ("pre\u0301nom", "PR\u00c9NOM")])
def test_policy_hides_a_column_in_another_form_of_unicode(clean: CleanShop, column: str, named: str) -> None:
    shop = Shop(clean.dataset)
    shop.create("a1", {"id": "INT64", column: "STRING", LANDED_AT: "TIMESTAMP"})
    row: dict[str, Any] = {"id": 1, column: "Ada"}
    shop.land("a1", change("INSERT", "1", **row))
    clean.function(**{"*": "clear", named: "mask"}).deliver("a1")
    assert clean.rows() == [(1, None)]


@pytest.mark.usefixtures("shop")
def test_empty_key_table_is_an_error_and_not_an_empty_view(clean: CleanShop) -> None:
    clean.function(id="clear", email="hash").deliver("a1")
    clean.dataset.run(f"DELETE FROM {clean.key_table.quoted} WHERE TRUE")
    with pytest.raises(GoogleAPICallError, match="expected one row with a key"):
        clean.rows()


@pytest.mark.usefixtures("shop")
def test_rotation_gives_other_hashes(clean: CleanShop) -> None:
    clean.function(id="clear", email="hash").deliver("a1")
    other = HashKey.new()
    clean.write_key(other, replace=True)
    assert clean.rows() == [(1, other.hash(b"ada@example.com"), None)]


class StopsAtCurrent(EmulatedWarehouse):
    """A warehouse whose process dies right after the current view was written."""

    def update_view(self, stored: StoredView, draft: ViewDraft) -> None:
        super().update_view(stored, draft)
        if stored.id.table == "customer_current":
            raise KeyboardInterrupt


def test_current_view_shows_nothing_new_through_the_clean_view(clean: CleanShop, shop: Shop) -> None:
    """`note` is text in one version and a struct with an undecided field in the next: it stays text, with other content."""
    rules = {"id": "clear", "note": "clear"}
    clean.function(**rules).deliver("a1")
    assert clean.rows() == [(1, None, "n")]
    shop.create("b2", {**CUSTOMER, "note": "STRUCT<phone STRING>"})
    shop.land("b2", change("INSERT", "2", id=2, email=None, note={"phone": "030"}))
    settings = Settings(rules=BY_ID, policies=policies(**rules), topic_schema_changes="schema-changes")
    with pytest.raises(KeyboardInterrupt):
        refresh_current(StopsAtCurrent(clean.client), clean.base, (), settings)
    assert shop.dataset.rows("customer_current")[1][2] == '{"phone":"030"}'
    assert clean.rows() == [(1, None, None), (2, None, None)]
    assert waiting_columns(clean.view().query) == ("email", "note.phone")
    function = clean.function(**rules)
    function.deliver("b2")
    assert clean.rows() == [(1, None, None), (2, None, None)]
    assert function.announced("customer") == [("undecided note.phone", "WARNING")]


def test_fields_of_a_version_that_was_dropped_stay_hidden(clean: CleanShop, shop: Shop) -> None:
    """The base keeps its rows, in which the struct is text that has all fields."""
    rules = {"id": "clear", "note": "clear", "note__zip": "clear"}
    shop.create("b2", {**CUSTOMER, "note": "STRUCT<zip STRING, phone STRING>"})
    shop.land("b2", change("INSERT", "2", id=2, email=None, note={"zip": "1", "phone": "030"}))
    function = clean.function(**rules)
    function.deliver("b2")
    settings = Settings(rules=BY_ID, policies=policies(**rules))
    reconcile(shop.warehouse, shop.table, settings)
    shop.dataset.run(f"DROP TABLE {shop.dataset.quoted('customer_v_b2')}")
    refresh_current(shop.warehouse, clean.base, (), settings)
    refresh(CleanKind(shop.warehouse, clean.base, settings))
    assert "030" in str(shop.dataset.rows("customer_current"))
    assert clean.rows() == [(1, None, None), (2, None, None)]
    checked = check_policies(shop.warehouse, clean.base, settings)
    assert checked.waiting == waiting_columns(clean.view().query) == ("email", "note.phone")
    decided = replace(settings, policies=policies(**rules, note__phone="clear"))
    refresh(CleanKind(shop.warehouse, clean.base, decided))
    assert [row[2] for row in clean.rows()] == ["n", '{"phone":"030","zip":"1"}']


@pytest.mark.usefixtures("shop")
def test_command_with_other_policies_writes_nothing(clean: CleanShop) -> None:
    clean.function(id="clear").deliver("a1")
    settings = Settings(rules=BY_ID, policies=policies(id="clear", email="clear"), keep_view_settings=True)
    with pytest.raises(SettingsChanged, match="was written with other policies"):
        refresh(CleanKind(clean.warehouse, clean.base, settings))
    assert clean.rows() == [(1, None, None)]


@pytest.mark.usefixtures("shop")
def test_command_of_a_later_release_has_no_other_policies(clean: CleanShop, monkeypatch: pytest.MonkeyPatch) -> None:
    clean.function(id="clear").deliver("a1")
    monkeypatch.setattr("onefold.views.clean_kind.RENDERER", 7)
    same = Settings(rules=BY_ID, policies=policies(id="clear"), keep_view_settings=True)
    assert refresh(CleanKind(clean.warehouse, clean.base, same)).action == "update"
    other = Settings(rules=BY_ID, policies=policies(id="clear", email="clear"), keep_view_settings=True)
    with pytest.raises(SettingsChanged, match="was written with other policies"):
        refresh(CleanKind(clean.warehouse, clean.base, other))


def test_command_without_policies_does_not_write_the_current_view_either(clean: CleanShop, shop: Shop) -> None:
    clean.function(id="clear").deliver("a1")
    shop.create("b2", {**CUSTOMER, "phone": "STRING"})
    with pytest.raises(SettingsChanged, match="was written with other policies"):
        refresh_current(clean.warehouse, clean.base, (), Settings(rules=BY_ID, keep_view_settings=True))
    assert len(shop.dataset.rows("customer_current")[0]) == 3


@pytest.mark.usefixtures("shop")
def test_key_is_nowhere_but_in_its_table(clean: CleanShop, capsys: pytest.CaptureFixture[str]) -> None:
    function = clean.function(id="clear", email="hash")
    function.deliver("a1")
    parts = (KEY.secret.decode(), KEY.secret.hex(), *KEY.pads)
    output = capsys.readouterr()
    texts = [output.out, output.err, repr(KEY), str(KEY)]
    for name in (clean.dataset.name, f"{clean.dataset.name}__views_clean"):
        for item in clean.client.list_tables(name):
            table = clean.client.get_table(item)
            texts.append(json.dumps(table.to_api_repr()))
    texts += [message.data.decode() for topic in function.publisher.topics.values() for message in topic]
    texts += [json.dumps(job.to_api_repr(), default=str) for job in clean.client.list_jobs()]
    assert not [part for part in parts for text in texts if part in text]
    assert clean.dataset.run(f"SELECT ipad, opad FROM {clean.key_table.quoted}") == [KEY.pads]
