"""`onefold plan DATASET` and `onefold refresh DATASET --all`: what is reported, left over, taken over and left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run
from support.in_memory import ABC, DEF

from onefold.adapters.connect import connect
from onefold.core.names import TableId
from onefold.ports.warehouse import ViewDraft


@pytest.fixture
def shop(dataset: EmulatedDataset) -> EmulatedDataset:
    dataset.land("customer_v_abc", ABC)
    dataset.land("supplier_v_1", {"id": "INT64"})
    return dataset


def views(shop: EmulatedDataset) -> set[str]:
    return {table.table_id for table in shop.client.list_tables(shop.name) if table.table_type == "VIEW"}


def test_plan_has_a_line_for_each_unchanged_view_and_ends_with_a_summary(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    place = f"local.{shop.name}"
    unchanged = [f"{place}.{table}_unified is up to date" for table in ("customer", "supplier")]
    assert run("plan", "--dataset", shop.name).out.splitlines() == [*unchanged, "2 up to date, 0 to change"]
    shop.land("supplier_v_2", {"id": "INT64", "zip": "STRING"})
    lines = run("plan", "--dataset", shop.name).out.splitlines()
    assert (lines[0], lines[1], lines[-1]) == (
        unchanged[0], f"{place}.supplier_unified would be updated", "1 up to date, 1 to change",
    )  # fmt: skip
    assert any("zip" in line for line in lines)


def test_quiet_shows_only_what_would_change_and_verbose_everything(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    assert run("plan", "--dataset", shop.name, "--quiet").out == "2 up to date, 0 to change\n"
    assert run("plan", "--dataset", shop.name, "-v").out.count("form: spelled") == 2
    assert "form: spelled" not in run("plan", "--dataset", shop.name).out
    quiet = run("refresh", "--dataset", shop.name, "--all", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
    shop.land("supplier_v_2", {"id": "INT64", "zip": "STRING"})
    changed = run("refresh", "--dataset", shop.name, "--all", "-q")
    assert (changed.code, changed.out) == (0, f"local.{shop.name}.supplier_unified updated\n")


def test_plan_shows_the_difference_of_the_text_on_request(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    before = run("plan", f"{shop.name}.supplier", "--json").result["query"]
    shop.land("supplier_v_2", {"id": "INT64"})
    assert "+UNION ALL" not in run("plan", f"{shop.name}.supplier").out
    assert "+UNION ALL" in run("plan", f"{shop.name}.supplier", "--sql").out
    changed = run("plan", f"{shop.name}.supplier", "--sql", "--json").result
    lines = changed["difference"].splitlines()
    assert lines[:2] == [f"--- {changed['view']} now", f"+++ {changed['view']} then"]
    kept = [line[1:] for line in lines[3:] if line[0] in " +"]
    assert kept == changed["query"].splitlines()[1:], "all but the comment with the settings, which is not near a change"
    assert [line[1:] for line in lines[3:] if line[0] in " -"] == before.splitlines()[1:]
    assert run("plan", f"{shop.name}.customer", "--sql", "--json").result["difference"] == ""


def test_views_whose_last_version_was_dropped_are_listed_and_pruned(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", "--dataset", shop.name, "--all")
    shop.run(f"DROP TABLE {shop.quoted('supplier_v_1')}")
    planned = run("plan", "--dataset", shop.name)
    assert planned.code == 0
    assert f"local.{shop.name}.supplier_unified is left over" in planned.out
    assert planned.out.endswith("1 up to date, 0 to change, 1 left over\n")
    entries = {entry["table"].split(".")[-1]: entry for entry in run("plan", "--dataset", shop.name, "--json").results}
    assert {name: entry["left_over"] for name, entry in entries.items()} == {"customer": False, "supplier": True}
    kept = run("refresh", "--dataset", shop.name, "--all")
    assert (kept.code, views(shop)) == (0, {"customer_unified", "supplier_unified"})
    assert "onefold refresh" in kept.err
    to_prune = run("plan", "--dataset", shop.name, "--prune")
    assert (to_prune.code, "supplier_unified would be removed" in to_prune.out) == (2, True)
    pruned = run("refresh", "--dataset", shop.name, "--all", "--prune")
    assert (pruned.code, views(shop)) == (0, {"customer_unified"})
    assert f"local.{shop.name}.supplier_unified removed" in pruned.out


def test_a_dataset_that_has_only_a_view_left_is_pruned_too(run: Run, shop: EmulatedDataset) -> None:
    run("refresh", f"{shop.name}.customer")
    for table in ("customer_v_abc", "supplier_v_1"):
        shop.run(f"DROP TABLE {shop.quoted(table)}")
    assert run("refresh", "--dataset", shop.name, "--all", "--prune").code == 0
    assert views(shop) == set()
    assert "has no versioned tables" in run("refresh", "--dataset", shop.name, "--all", "--prune").err


@pytest.mark.parametrize("command", [("plan",), ("refresh", "--all")])
def test_tables_whose_versions_are_all_retired_are_no_failure_of_the_whole(
    run: Run, shop: EmulatedDataset, command: tuple[str, ...]
) -> None:
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc]}, supplier: {retire: ['1']}}")
    outcome = run(command[0], shop.name, *command[1:])
    assert outcome.code == 0
    assert "all 1 of them are retired" in outcome.out + outcome.err
    assert "Error" not in outcome.err
    assert views(shop) == set()


def test_a_mistyped_table_of_the_settings_is_reported(run: Run, shop: EmulatedDataset) -> None:
    Path("onefold.yaml").write_text("tables: {custmer: {keys: [id]}, customer: {keys: [id]}}")
    assert "tables.custmer of onefold.yaml" in run("plan", "--dataset", shop.name).out
    (warning,) = run("plan", "--dataset", shop.name, "--json").json["warnings"]
    assert "did you mean customer?" in warning
    assert "did you mean customer?" in run("refresh", "--dataset", shop.name, "--all").err
    assert "did you mean customer?" in run("refresh", f"{shop.name}.cu*").err
    assert "custmer" not in run("refresh", f"{shop.name}.s*").err


NAMING = ("plan", "refresh", "current", "merge", "tables", "policies init", "policies check")


@pytest.mark.parametrize("command", NAMING)
def test_a_mistyped_table_gets_the_near_name(run: Run, shop: EmulatedDataset, command: str) -> None:
    mistyped = run(*command.split(), f"{shop.name}.custmer")
    before, near, _ = mistyped.err.partition("did you mean customer?")
    assert (mistyped.code, bool(near), "digits" in before) == (1, True, False), mistyped.err


@pytest.mark.parametrize("command", [*NAMING, "discover", "audit"])
def test_a_mistyped_dataset_gets_the_near_name_before_the_command_that_creates_another(
    run: Run, shop: EmulatedDataset, command: str
) -> None:
    mistyped = run(*command.split(), f"{shop.name}_.customer")
    question, _, creation = mistyped.err.partition(f" (did you mean {shop.name}?); to create it, run: onefold local query")
    assert (mistyped.code, "does not exist" in question, "CREATE SCHEMA" in creation) == (1, True, True), mistyped.err


def test_a_mistyped_name_of_a_whole_dataset_a_query_or_a_comparison_gets_the_near_name(
    run: Run, shop: EmulatedDataset
) -> None:
    near = f"did you mean {shop.name}?"
    assert near in run("plan", "--dataset", f"{shop.name}_").err
    assert near in run("export", "dbt", f"{shop.name}_", "--output", "dbt").err
    assert near in run("query", f"SELECT 1 FROM {shop.name}_.supplier_v_1").err
    Path("rows.jsonl").write_text('{"id": 1}')
    for command in (
        ("query", f"SELECT 1 FROM {shop.name}.suplier_v_1"),
        ("compare", f"bigquery:{shop.name}.suplier_v_1", "rows.jsonl", "--keys", "id"),
    ):
        assert "did you mean supplier_v_1?" in run(*command).err


def test_a_message_about_a_table_that_is_not_there_is_sent_with_a_warning_that_has_the_near_name(
    run: Run, shop: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PUBSUB_EMULATOR_HOST", "127.0.0.1:9")  # nothing is sent there
    for name, near in (("custmer", "customer"), ("customer", "")):
        sent = run("publish", f"{shop.name}.{name}", "--dry-run")
        assert (sent.code, f"did you mean {near}?); the message would be sent all the same" in sent.err) == (
            0,
            bool(near),
        ), sent.err
    mistyped = run("publish", f"{shop.name}_.customer", "--dry-run")
    assert (mistyped.code, f"did you mean {shop.name}?" in mistyped.err) == (0, True)


def test_a_view_that_somebody_wrote_is_replaced_only_on_request_and_its_text_printed(
    run: Run, shop: EmulatedDataset
) -> None:
    text = f"SELECT id, first_name FROM {shop.quoted('customer_v_abc')}"
    connect("local").create_view(TableId("local", shop.name, "customer_unified"), ViewDraft(text))
    for command in ("plan", "refresh"):
        refused = run(command, shop.name, "customer")
        assert refused.code == 1
        assert f"`onefold refresh {shop.name}.customer --take-over`" in refused.err
    assert run("plan", f"{shop.name}.customer", "--take-over").code == 2
    taken = run("refresh", f"{shop.name}.customer", "--take-over")
    assert taken.code == 0
    assert f"this will replace local.{shop.name}.customer_unified;" in taken.err
    assert text in taken.err
    assert run("plan", f"{shop.name}.customer").code == 0


def test_nothing_is_asked_where_nothing_would_be_replaced_or_removed(run: Run, shop: EmulatedDataset) -> None:
    done = run("refresh", f"{shop.name}.*", "--take-over", "--prune")
    assert (done.code, "this will" in done.err) == (0, False)
    Path("onefold.yaml").write_text("tables: {customer: {retire: [abc]}}")
    removed = run("refresh", f"{shop.name}.*", "--prune")
    assert f"this will remove local.{shop.name}.customer_unified;" in removed.err
    assert views(shop) == {"supplier_unified"}


def test_the_text_of_a_view_that_a_statement_made_is_printed_before_it_is_replaced(run: Run, shop: EmulatedDataset) -> None:
    """On the laptop as in BigQuery, though the embedded server returns no text of a view."""
    text = "SELECT 1 AS written_by_hand"
    shop.client.query(f"CREATE VIEW {shop.quoted('customer_unified')} AS {text}").result()
    taken = run("refresh", f"{shop.name}.customer", "--take-over")
    assert (taken.code, text in taken.err) == (0, True)


def test_a_table_whose_name_needs_marks_has_a_view(run: Run, dataset: EmulatedDataset) -> None:
    dataset.land("ग्राहक_सूची_v_abc", ABC, "1, 'Ada', 'Lovelace', 'Ada Lovelace'")
    dataset.land("ग्राहक_सूची_v_def", DEF)
    assert run("refresh", "--dataset", dataset.name, "ग्राहक_सूची").code == 0
    assert dataset.rows("ग्राहक_सूची_unified") == [("1", "Ada", "Lovelace", "Ada Lovelace", None)]
