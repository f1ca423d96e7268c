"""A walk over the commands that find something: each ends with 2 where it does, and the page of exit codes says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Outcome, Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"
Finding = Callable[[Run, Path], Outcome]


def differing_files(run: Run, folder: Path) -> Outcome:
    for name, value in (("left", 1), ("right", 2)):
        (folder / f"{name}.jsonl").write_text(f'{{"id": 1, "value": {value}}}\n')
    return run("compare", "left.jsonl", "right.jsonl", "--keys", "id")


def settings_without_a_form(run: Run, folder: Path) -> Outcome:
    (folder / "onefold.yaml").write_text("tables: {customer: {keys: [id]}}")
    return run("settings", "check")


def an_emulator_that_is_not_there(run: Run, folder: Path) -> Outcome:  # noqa: ARG001 as the others
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIGQUERY_EMULATOR_HOST", "127.0.0.1:9")
        patch.setenv("PUBSUB_EMULATOR_HOST", "")
        return run("doctor")


def a_source_without_its_password(run: Run, folder: Path) -> Outcome:
    (folder / "onefold.yaml").write_text(
        'sources: {fraud: {host: h, user: u, password: "env:NOT_SET", databases: [models], tables: {"*": {mode: full}}}}'
    )
    return run("sources", "check")


def a_schema_that_is_no_schema(run: Run, folder: Path) -> Outcome:
    (folder / "schemas").mkdir()
    (folder / "schemas" / "broken.json").write_text("{")
    return run("schema", "lint", "schemas")


def a_source_with_another_format(run: Run, folder: Path) -> Outcome:
    place = folder / "schemas" / "com.acme" / "payload" / "thrift"
    place.mkdir(parents=True)
    (place / "1-0-0").write_text("struct Payload {}")
    return run("schema", "import", ".", "--registry", "mine")


def no_stack(run: Run, folder: Path) -> Outcome:  # noqa: ARG001 as the others
    return run("local", "status")


def a_plan_above_its_budget(run: Run, folder: Path) -> Outcome:
    (folder / "plan.yaml").write_text("tenants: 50\ngroups: {orders: {rows: 1000000, changes: 1000}}")
    return run("cost", "--plan", "plan.yaml", "--budget", "0")


FINDINGS: dict[str, Finding] = {
    "compare": differing_files,
    "cost": a_plan_above_its_budget,
    "settings check": settings_without_a_form,
    "doctor": an_emulator_that_is_not_there,
    "sources check": a_source_without_its_password,
    "schema lint": a_schema_that_is_no_schema,
    "schema import": a_source_with_another_format,
    "local status": no_stack,
}
IN_BIGQUERY: dict[str, Callable[[str], tuple[str, ...]]] = {
    "plan": lambda dataset: ("plan", "--dataset", dataset),
    "audit": lambda dataset: ("audit", dataset),
    "policies check": lambda dataset: ("policies", "check", "--dataset", dataset),
}
WITH_MORE = {
    "access plan", "batch --wait", "capture --check", "capture status", "check", "demo --source", "load-shredded",
    "schema adopt", "schema diff",
}  # fmt: skip
"""Commands whose findings take a server, another service or a registry: the tests of each provoke them."""


@pytest.mark.parametrize("command", FINDINGS)
def test_a_finding_ends_with_2(command: str, run: Run, tmp_path: Path) -> None:
    found = FINDINGS[command](run, tmp_path)
    assert (found.code, "Usage:" in found.err) == (2, False), found.err


def test_a_finding_in_bigquery_ends_with_2(run: Run, dataset: EmulatedDataset) -> None:
    metadata = {"_fivetran_synced": "TIMESTAMP", "_fivetran_deleted": "BOOL"}
    dataset.land(
        "orders", {"id": "INT64", **metadata}, "1, TIMESTAMP '2026-01-01', FALSE", "1, TIMESTAMP '2026-01-01', FALSE"
    )
    dataset.land("customer_v_abc", {"id": "INT64"}, "1")
    Path("onefold.yaml").write_text(f"tables: {{{dataset.name}.orders: {{keys: [id], order_by: [_fivetran_synced]}}}}")
    assert {name: run(*words(dataset.name)).code for name, words in IN_BIGQUERY.items()} == dict.fromkeys(IN_BIGQUERY, 2)


def test_the_page_of_exit_codes_has_the_same_commands() -> None:
    rows = re.findall(r"^\| `onefold ([\w -]+)` \|[^|]*\|[^|]*\| *([^| ][^|]*)\|$", PAGE.read_text(), re.MULTILINE)
    assert {name for name, found in rows if found.strip()} == {*FINDINGS, *IN_BIGQUERY, *WITH_MORE}
