"""The guides whose commands run on one machine: in their order, as they are written, with what they say that one has."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud import bigquery
from support.page_reader import Reader
from support.pages import ROOT, blocks, clean_environ, run_script
from support.sweeps import sweep

from onefold_lab.processes import bigquery_emulator, free_port
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

HOW_TO = ROOT / "docs" / "how-to"
CHANGED = "TIMESTAMP '2026-11-20 10:00:00'"
Environ = Mapping[str, str]
Prepare = Callable[[bigquery.Client, Path, Environ], None]


def a_change_table(client: bigquery.Client, folder: Path, environ: Environ) -> None:
    """Prepare the versions of shop.customer, and the table as it has to be in the end."""
    client.create_dataset("shop")
    run_script("onefold workload --operations 200 --few-columns --versions 2 --out work", folder, environ)
    run_script("onefold local load work shop customer", folder, environ)


def a_base(client: bigquery.Client, folder: Path, environ: Environ) -> None:
    a_change_table(client, folder, environ)
    run_script("onefold merge shop customer --keys id", folder, environ)


def copies(client: bigquery.Client, folder: Path, environ: Environ) -> None:
    """Prepare a current view with a copy of it as CSV, and two files that are the same."""
    a_change_table(client, folder, environ)
    run_script("onefold refresh shop customer\nonefold current shop customer --keys id", folder, environ)
    truth = [json.loads(line) for line in (folder / "work" / "truth.jsonl").read_text().splitlines()]
    with (folder / "customer.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(truth[0]))
        writer.writeheader()
        writer.writerows(truth)
    for name in ("before", "after"):
        pq.write_table(pa.table({"tenant": ["a", "b"], "id": [1, 1]}), folder / f"{name}.parquet")


def versions(client: bigquery.Client, folder: Path, environ: Environ) -> None:
    client.create_dataset("shop")
    for version in ("5b6ffe5fb", "0c1d2e3f4"):
        client.query(f"CREATE TABLE shop.customer_v_{version} AS SELECT 1 AS id, 'Ada' AS name").result()
    run_script("onefold refresh shop customer", folder, environ)


def personal_data(client: bigquery.Client, folder: Path, environ: Environ) -> None:
    """Prepare a table with a current view, and the datasets of clean views and of the key."""
    for name in ("shop", "shop__views_clean", "shop__keys"):
        client.create_dataset(name)
    row = f"1 AS id, 'Ada' AS name, 'ada@example.com' AS email, 'London' AS city, {CHANGED} AS changed_at"
    client.query(f"CREATE TABLE shop.customer_v_abc AS SELECT {row}").result()
    (folder / "onefold.yaml").write_text("tables: {shop.customer: {keys: [id], order_by: [changed_at]}}\n")
    run_script("onefold refresh shop customer", folder, environ)


def static_registries(client: bigquery.Client, folder: Path, environ: Environ) -> None:  # noqa: ARG001
    """Prepare two folders of schemas without an index: the order of addition is certain in the first one only."""
    for name, schema, added in (("old", "click", ("1-0-0", "1-0-1")), ("other", "page", ("1-0-0", "1-0-1", "1-1-0"))):
        for version in added:
            path = folder / f"{name}-folder" / "schemas" / "com.acme" / schema / "jsonschema" / version
            path.parent.mkdir(parents=True, exist_ok=True)
            own = {"vendor": "com.acme", "name": schema, "format": "jsonschema", "version": version}
            names = (
                {"1-0-0": "a", "1-1-0": "ab", "1-0-1": "abc"}[version]
                if schema == "page"
                else "ab"[: added.index(version) + 1]
            )
            path.write_text(
                json.dumps({"self": own, "type": "object", "properties": {n: {"type": "string"} for n in names}})
            )


PREPARED: Mapping[str, Prepare] = {
    "hide-personal-data": personal_data,
    "merge-and-rebuild": a_change_table,
    "purge-tombstones": a_base,
    "compare-with-the-source": copies,
    "retire-a-version": versions,
    "hold-a-change": versions,
    "run-a-schema-registry": static_registries,
    "see-tables-over-time": versions,
}
"""What a reader of each page has before its first command."""


def run_page(page: str, folder: Path) -> list[str]:
    """Run the blocks of a page one after the other. Returns what each prints."""
    registry = str(free_port())
    with ExitStack() as stack:
        host = stack.enter_context(bigquery_emulator())
        environ = {**clean_environ(), "BIGQUERY_EMULATOR_HOST": host, "ONEFOLD_PROJECT": DEFAULT_PROJECT, "COLUMNS": "160"}
        PREPARED[page](emulator_client(DEFAULT_PROJECT, host), folder, environ)
        return Reader(folder, environ, stack, edited=lambda text: text.replace("8080", registry)).read(HOW_TO / f"{page}.md")


@pytest.mark.emulator
@pytest.mark.heavy
@pytest.mark.parametrize("page", sweep(tuple(PREPARED)))
def test_the_commands_of_a_page_run(page: str, tmp_path: Path) -> None:
    shown = run_page(page, tmp_path)
    assert len(shown) == len([kind for kind, _ in blocks(HOW_TO / f"{page}.md", 9050) if kind == "sh"])
    if page == "hide-personal-data":
        check_hidden(*shown)


def check_hidden(key: str, draft: str, decisions: str, view: str, plan: str, changed: str, rotated: str) -> None:
    assert "shop__keys.hash_key has a key" in key
    assert re.search(r"^    email: hash ", draft, re.MULTILINE)
    assert "city" in decisions
    assert re.search(r"1 +│ NULL +│ [0-9a-f]{64} +│ NULL", view)
    assert "those of the settings" in plan
    assert re.search(r"1 +│ London", changed)
    assert "has a new key" in rotated
