"""`onefold plan --fail-on` and `--github`, for programs of continuous integration."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

from onefold.cli.plan_findings import github_commands, summary_in_markdown
from onefold.core.names import TableId
from onefold.refresh.plan import ViewPlan
from onefold.schema.diff import SchemaChange, Severity


@pytest.fixture
def shop(dataset: EmulatedDataset, run: Run) -> EmulatedDataset:
    """A table whose view is up to date."""
    dataset.land("t_v_1", {"id": "INT64", "amount": "INT64"})
    run("refresh", f"{dataset.name}.t")
    return dataset


def codes(run: Run, shop: EmulatedDataset) -> dict[str, int]:
    return {
        "any": run("plan", "--dataset", shop.name).code,
        "warning": run("plan", "--dataset", shop.name, "--fail-on", "warning").code,
        "critical": run("plan", "--dataset", shop.name, "--fail-on", "critical").code,
    }


def test_nothing_to_do_is_no_finding(run: Run, shop: EmulatedDataset) -> None:
    assert codes(run, shop) == {"any": 0, "warning": 0, "critical": 0}


def test_an_added_column_is_a_change_and_no_warning(run: Run, shop: EmulatedDataset) -> None:
    shop.land("t_v_2", {"id": "INT64", "amount": "INT64", "zip": "STRING"})
    assert codes(run, shop) == {"any": 2, "warning": 0, "critical": 0}


def test_a_type_of_the_same_family_is_a_warning(run: Run, shop: EmulatedDataset) -> None:
    shop.land("t_v_2", {"id": "INT64", "amount": "NUMERIC"})
    assert codes(run, shop) == {"any": 2, "warning": 2, "critical": 0}


def test_a_type_that_breaks_readers_is_critical(run: Run, shop: EmulatedDataset) -> None:
    shop.land("t_v_2", {"id": "INT64", "amount": "STRING"})
    assert codes(run, shop) == {"any": 2, "warning": 2, "critical": 2}


def test_a_failure_is_an_error_whatever_the_severity(run: Run, shop: EmulatedDataset) -> None:
    shop.run(f"CREATE TABLE {shop.quoted('u_unified')} (id INT64)")
    shop.land("u_v_1", {"id": "INT64"})
    assert run("plan", "--dataset", shop.name, "--fail-on", "critical").code == 1


def test_github_gets_annotations_and_a_summary(
    run: Run, shop: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    shop.land("t_v_2", {"id": "INT64", "amount": "STRING", "zip": "STRING"})
    printed = run("plan", "--dataset", shop.name, "--github")
    view = f"local.{shop.name}.t_unified"
    assert printed.code == 2
    assert [line for line in printed.out.splitlines() if line.startswith("::")] == [
        f"::error title={view}::retyped amount INT64 -> STRING", f"::notice title={view}::added zip STRING",
    ]  # fmt: skip
    written = summary.read_text()
    assert written.startswith(f"before\n## onefold plan {shop.name}\n\n0 up to date, 1 to change\n")
    assert f"| {view} | retyped | amount | INT64 | STRING | CRITICAL |" in written


def test_github_gets_the_tables_that_are_left_out(
    run: Run, shop: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    shop.land("t_v_ghi", {"id": "INT64"})
    printed = run("plan", "--dataset", shop.name, "--github")
    assert printed.code == 0
    (line,) = [line for line in printed.out.splitlines() if line.startswith("::")]
    assert line.startswith("::warning title=t_v_ghi::the table is left out: ")
    assert "| t_v_ghi | left out | " in summary.read_text()


def test_github_without_a_summary_prints_annotations_alone(
    run: Run, shop: EmulatedDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert "::" not in run("plan", "--dataset", shop.name, "--github").out
    assert "exclude each other" in run("plan", "--dataset", shop.name, "--github", "--json").err


def test_names_from_a_source_cannot_end_an_annotation_or_a_cell() -> None:
    change = SchemaChange("added", "a|b\n::error::x%", Severity.INFO, new="STRING")
    plan = ViewPlan(TableId("p", "shop", "t"), "update", None, None, None, (change,))
    (line,) = github_commands([plan])
    assert line == "::notice title=p.shop.t::added a|b%0A::error::x%25 STRING"
    assert "| p.shop.t | added | a\\|b ::error::x% |  | STRING | INFO |" in summary_in_markdown("t", [plan], "1")
