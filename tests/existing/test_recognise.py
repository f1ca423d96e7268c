"""Each tool's tables are recognised by the columns that its documentation lists, whatever else the tables have."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.existing_tables import DOCUMENTED, SOURCE, Documented, schema

from onefold.core.errors import Rejected
from onefold.existing import recognise as registry
from onefold.existing.recognise import recognise, tools
from onefold.existing.table import ExistingTable, Recognised, TableNote
from onefold.existing.tool import Tool

IDS = [f"{one.tool} {one.form} {number}" for number, one in enumerate(DOCUMENTED)]
NOISE = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True).filter(lambda name: name not in {"id", "op", "after", "version"}),
    st.sampled_from(["INT64", "STRING", "TIMESTAMP", "JSON", "STRUCT<op STRING, lsn INT64>", "ARRAY<STRING>"]),
    max_size=6,
)


def recognised(one: Documented, noise: dict[str, str] | None = None) -> Recognised:
    return recognise(one.table(noise))


@pytest.mark.parametrize("one", DOCUMENTED, ids=IDS)
def test_a_documented_table_is_recognised_with_key_order_deletion_and_landing(one: Documented) -> None:
    found = recognised(one)
    assert (found.tool, found.form, found.rows, found.confidence, found.why != "") == (
        one.tool, one.form, one.rows, one.confidence, True,
    )  # fmt: skip
    assert (found.key, found.order_by, bool(found.deleted), bool(found.landed)) == (
        one.key, one.order, one.deleted, one.landed,
    )  # fmt: skip


@given(st.sampled_from(DOCUMENTED), NOISE)
def test_columns_of_the_source_change_nothing(one: Documented, noise: dict[str, str]) -> None:
    if one.tool != "plain":
        assert recognised(one, noise) == recognised(one)


@given(st.sampled_from(DOCUMENTED))
def test_the_columns_of_a_tool_are_no_columns_of_the_source(one: Documented) -> None:
    found = recognised(one)
    if one.tool != "plain":
        assert set(one.added) <= set(found.metadata)
        assert not set(SOURCE) & set(found.metadata)


@given(NOISE)
def test_a_table_without_any_tool_s_columns_is_plain_and_a_guess(noise: dict[str, str]) -> None:
    found = recognise(ExistingTable("orders", schema({**SOURCE, **noise})))
    assert (found.tool, found.confidence) == ("plain", "guess")


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("_dlt_loads", {"load_id": "STRING", "status": "INT64"}),
        ("_dlt_version", {"schema": "STRING"}),
        ("_peerdb_raw_mirror", {"_peerdb_uid": "STRING"}),
        ("_sdc_primary_keys", {"table_name": "STRING"}),
        (
            "shop_raw__stream_orders",
            {"_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_airbyte_data": "STRING"},
        ),
        ("orders_tmp_0_2f1c8e6a_0b7d_4c55_9a3e_7d1f0c9b8a64_1764115200000", {"__op": "STRING"}),
    ],
)
def test_what_a_tool_keeps_for_itself_is_not_for_people(name: str, columns: dict[str, str]) -> None:
    assert recognise(ExistingTable(name, schema(columns))).rows == "own"


def test_flattened_changes_of_one_statement_are_ordered_by_their_place_in_the_event() -> None:
    added = {
        "__deleted": "STRING", "__op": "STRING", "__source_file": "STRING", "__source_pos": "INT64", "__source_row": "INT64",
        "__ts_ms": "INT64",
    }  # fmt: skip
    found = recognise(ExistingTable("orders", schema({**SOURCE, **added}), ("id",)))
    assert [term.column for term in found.order] == ["", "__source_pos", "__source_row", "__ts_ms"]
    assert set(found.metadata) == set(added)


_ORACLE = "STRUCT<ts_ms INT64, scn STRING, commit_scn STRING, rs_id STRING, ssn INT64>"


def envelope(source: str) -> Recognised:
    columns = {"before": "STRUCT<id INT64>", "after": "STRUCT<id INT64>", "op": "STRING", "source": source}
    return recognise(ExistingTable("orders", schema(columns), ("id",)))


def test_changes_of_oracle_with_one_scn_are_ordered_by_commit_and_place_in_the_redo_log() -> None:
    found = envelope(_ORACLE)
    fields = [re.findall(r"r\.`source`\.`(\w+)`", term.sql)[0] for term in found.order]
    assert (fields, found.confidence) == (["scn", "commit_scn", "rs_id", "ssn", "ts_ms"], "certain")
    added = {"__op": "STRING", "__source_ssn": "INT64", "__source_rs_id": "STRING", "__source_scn": "STRING"}
    flat = recognise(ExistingTable("orders", schema({**SOURCE, **added}), ("id",)))
    columns = [re.findall(r"r\.`(\w+)`", term.sql)[0] for term in flat.order]
    assert (columns, flat.confidence) == (["__source_scn", "__source_rs_id", "__source_ssn"], "likely")


def test_changes_of_oracle_without_their_place_in_the_redo_log_are_less_sure_and_say_so() -> None:
    flat = recognise(ExistingTable("orders", schema({**SOURCE, "__op": "STRING", "__source_scn": "STRING"}), ("id",)))
    for found, confidence in ((envelope("STRUCT<scn STRING>"), "likely"), (flat, "guess")):
        assert found.confidence == confidence
        assert any("rs_id and ssn" in note for note in found.notes)


def test_tables_that_onefold_writes_are_its_own() -> None:
    captured = "STRUCT<uuid STRING, source_timestamp INT64, change_type STRING, primary_key ARRAY<STRING>>"
    base = {**SOURCE, "_position": "STRING", "_deleted": "BOOL"}
    siblings = frozenset({"t_base", "t_merges"})
    tables = (
        ExistingTable("t_v_1", schema({"datastream_metadata": captured})),
        ExistingTable("t_base", schema(base)),
        ExistingTable("t_merges", schema({"started_at": "TIMESTAMP"}), siblings=siblings),
    )
    assert [(found.tool, found.rows) for found in map(recognise, tables)] == [("Onefold", "own")] * 3
    assert recognise(ExistingTable("t_merges", schema({"started_at": "TIMESTAMP"}))).tool == "plain"


def test_variants_of_dlt_belong_to_the_column_that_they_continue() -> None:
    columns = {
        "score": "INT64",
        "score__v_double": "FLOAT64",
        "score__v_text": "STRING",
        "alone__v_text": "STRING",
        "_dlt_id": "STRING",
    }
    assert recognise(ExistingTable("t", schema(columns))).variants == {"score": ("score__v_double", "score__v_text")}


def test_a_key_of_which_the_table_lacks_a_column_is_not_taken_for_one() -> None:
    notes = {"_dlt_version": TableNote(("id", "tenant"), "current")}
    found = recognise(ExistingTable("t", schema({**SOURCE, "_dlt_id": "STRING"}), notes=notes))
    assert (found.rows, found.key) == ("current", ())


def test_half_a_key_of_airbyte_is_no_key() -> None:
    """A table is clustered by at most three columns of its key."""
    columns = schema(
        {"a": "INT64", "b": "INT64", "c": "INT64", "_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP"}
    )
    table = ExistingTable("t", columns, clustering=("a", "b", "c", "_airbyte_extracted_at"))
    found = recognise(table)
    assert (found.form, found.key, "the key begins with a, b, c" in found.notes[-1]) == ("deduplicated", (), True)
    assert recognise(replace(table, key=("a", "b", "c"))).key == ("a", "b", "c")


def test_the_order_of_a_table_without_a_tool_is_the_one_that_the_settings_declare() -> None:
    table = ExistingTable("t", schema({**SOURCE, "at": "DATE"}), ("id",), order_by=("at",))
    found = recognise(table)
    assert (found.rows, found.confidence, found.key, found.order_by) == ("history", "certain", ("id",), ("at",))
    assert recognise(replace(table, order_by=("no",))).rows == "current"


def entry_point(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setattr(registry, "entry_points", lambda group: [EntryPoint("mine", value, group)])
    tools.cache_clear()


def recognise_mine(table: ExistingTable) -> Recognised | None:
    return Recognised("Mine", "own", "current", "certain", "it has _mine") if table.has("_mine") else None


MINE = Tool("Mine", recognise_mine)


def test_an_entry_point_adds_a_tool_before_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    entry_point(monkeypatch, f"{__name__}:MINE")
    try:
        assert recognise(ExistingTable("t", schema({"_mine": "INT64", "_fivetran_synced": "TIMESTAMP"}))).tool == "Mine"
        assert recognise(ExistingTable("t", schema({"_fivetran_synced": "TIMESTAMP"}))).tool == "Fivetran"
    finally:
        tools.cache_clear()


@pytest.mark.parametrize("value", ["no_such_module:TOOL", "json:dumps"])
def test_an_entry_point_that_is_no_tool_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    entry_point(monkeypatch, value)
    try:
        with pytest.raises(Rejected, match=r"the entry point mine of onefold\.tools"):
            recognise(ExistingTable("t", schema(SOURCE)))
    finally:
        tools.cache_clear()


def test_a_backup_beside_a_flattened_table_is_no_table_of_the_sinks_upserts() -> None:
    columns = schema({"id": "INT64", "__op": "STRING"})
    found = recognise(ExistingTable("fl", columns, siblings=frozenset({"fl", "fl_tmp_backup"})))
    assert (found.form, found.rows) == ("flattened", "history")


def test_a_later_generation_of_airbyte_comes_before_the_position_in_the_log() -> None:
    columns = {"_airbyte_raw_id": "STRING", "_airbyte_extracted_at": "TIMESTAMP", "_airbyte_generation_id": "INT64"}
    log = {"_ab_cdc_log_file": "STRING", "_ab_cdc_log_pos": "INT64"}
    found = recognise(ExistingTable("orders", schema({**columns, **log}), ("id",)))
    assert found.order[0].column == "_airbyte_generation_id"


def test_a_history_by_hand_stays_one_when_onefold_yaml_names_its_key() -> None:
    columns = schema({"id": "INT64", "v": "STRING", "updated_at": "TIMESTAMP"})
    found = recognise(ExistingTable("h", columns, ("id",), has_declared_key=True))
    assert (found.form, found.rows, found.key, found.order_by) == ("history by hand", "history", ("id",), ("updated_at",))
    assert recognise(ExistingTable("h", columns, ("id",))).rows == "current"
