"""Two people decide about a change at once: the later decision counts, and the command names the other one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run

from onefold.changes.decisions import read_verdicts
from onefold.cli import change_decision, changes_decide
from onefold_lab.stand_ins.warehouse import EmulatedWarehouse

Between = Callable[[str, Callable[[], object]], None]


@pytest.fixture
def order(dataset: EmulatedDataset, run: Run, monkeypatch: pytest.MonkeyPatch) -> EmulatedDataset:
    """A table of which two columns wait for a decision."""
    monkeypatch.setenv("ONEFOLD_CHANGES_DATASET", dataset.name)
    Path("onefold.yaml").write_text('contracts: {"*": {new_columns: review}}', "utf-8")
    assert run("changes", "create").code == 0
    for version, columns in {"1": {}, "2": {"email": "STRING", "zip": "STRING"}}.items():
        dataset.land(f"order_v_{version}", {"id": "INT64", **columns})
        assert run("refresh", f"{dataset.name}.order").code == 0
    return dataset


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Between:
    """Lets somebody else decide just before, or after, one step of a decision; once."""

    def interleave(step: str, other: Callable[[], object]) -> None:
        name = step.removeprefix("after ")
        module = next(one for one in (changes_decide, change_decision) if hasattr(one, name))
        own = getattr(module, name)

        def both(*given: object) -> object:
            monkeypatch.setattr(module, name, own)
            if name == step:
                other()
                return own(*given)
            done = own(*given)
            other()
            return done

        monkeypatch.setattr(module, name, both)

    return interleave


def change_of(run: Run, order: EmulatedDataset) -> str:
    (entry,) = run("plan", f"{order.name}.order", "--json").results
    return str(entry["waiting_changes"][0]["id"])


def shown(order: EmulatedDataset) -> list[str]:
    found = order.client.query(f"SELECT * FROM {order.quoted('order_unified')} LIMIT 0").result()
    return [field.name for field in found.schema]


def test_of_a_rejection_between_the_plan_and_its_own_decision_an_acceptance_says_that_it_is_the_later_one(
    run: Run, order: EmulatedDataset, between: Between
) -> None:
    id_, table = change_of(run, order), f"{order.name}.order"
    between("decide", lambda: run("changes", "reject", id_, table, "--column", "email"))
    done = run("changes", "accept", id_, table)
    assert (done.code, shown(order)) == (0, ["id", "email", "zip"])
    assert "Warning: somebody else rejected email at 20" in done.err
    assert "while this command ran: the acceptance counts" in done.err
    assert read_verdicts(EmulatedWarehouse(order.client), order.name).about(id_, "email") == "accept"


def test_a_rejection_that_came_after_an_acceptance_and_before_the_views_counts_and_is_named(
    run: Run, order: EmulatedDataset, between: Between
) -> None:
    id_, table = change_of(run, order), f"{order.name}.order"
    between("_refreshed", lambda: run("changes", "reject", id_, table, "--column", "email"))
    result = run("changes", "accept", id_, table, "--json").result
    assert shown(order) == ["id", "zip"]
    assert [(one["column"], one["verdict"], one["counts"]) for one in result["meanwhile"]] == [("email", "reject", True)]


def test_who_rejects_what_somebody_accepted_and_views_show_meanwhile_is_told_so(
    run: Run, order: EmulatedDataset, between: Between
) -> None:
    id_, table = change_of(run, order), f"{order.name}.order"
    between("decide", lambda: run("changes", "accept", id_, table, "--column", "email"))
    done = run("changes", "reject", id_, table)
    assert (done.code, shown(order)) == (0, ["id", "email"])
    assert "somebody else accepted email at 20" in done.err
    assert "the rejection counts" in done.err
    assert "the views show email already, and go on to show it" in done.err


def test_a_rejection_after_the_views_were_written_is_named_and_takes_nothing_away(
    run: Run, order: EmulatedDataset, between: Between
) -> None:
    id_, table = change_of(run, order), f"{order.name}.order"
    between("after _refreshed", lambda: run("changes", "reject", id_, table, "--column", "email"))
    done = run("changes", "accept", id_, table)
    assert shown(order) == ["id", "email", "zip"]
    assert "the rejection counts" in done.err
    assert "the views show email already, and go on to show it" in done.err


def test_the_same_decision_and_one_about_another_column_are_no_news(
    run: Run, order: EmulatedDataset, between: Between
) -> None:
    id_, table = change_of(run, order), f"{order.name}.order"

    def others() -> None:
        assert run("changes", "accept", id_, table, "--column", "email").code == 0
        assert run("changes", "reject", id_, table, "--column", "zip").code == 0

    between("decide", others)
    assert "somebody else" not in run("changes", "accept", id_, table, "--column", "email").err


def test_of_two_decisions_at_one_moment_the_rejection_counts(order: EmulatedDataset) -> None:
    for verdicts in (("reject", "accept"), ("accept", "reject")):
        change = "-".join(verdicts)
        rows = ", ".join(f"(TIMESTAMP '2026-01-01 00:00:00+00', '{change}', 'email', '{one}')" for one in verdicts)
        order.run(f"INSERT INTO {order.quoted('schema_change_decisions')} VALUES {rows}")
    found = read_verdicts(EmulatedWarehouse(order.client), order.name)
    assert set(found.by_change.values()) == {"reject"}
