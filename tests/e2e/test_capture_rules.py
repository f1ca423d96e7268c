"""From a real server to the views in the embedded BigQuery: columns that rules drop, mask or hash never get there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.end_to_end import Flow, new_source
from support.source_database import on

from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.landing.row_writer import LandingRules
from onefold.settings.captures import ColumnRules
from onefold.settings.environment import Settings
from onefold.views.refresh_current import refresh_current
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

pytestmark = on(MariaDb, long=MySql)

KEY, OTHER = HashKey(b"thirty-two bytes of a secret key"), HashKey(b"another secret key of 32 bytes..")
NORTH, SOUTH = "rules{}_north", "rules{}_south"
CUSTOMER = "CREATE TABLE {}.customer (mail VARCHAR(60) PRIMARY KEY, phone VARCHAR(20), born DATETIME(3), pin INT, n INT)"
ROWS = "('ada@example.com', '030-1', '1815-12-10 01:02:03.450', 4711, 1), ('grace@example.com', NULL, NULL, 4712, 2)"
SECRETS = ("ada@example", "grace@example", "030-1", "1815-12-10", "4711", "4712")
_numbers = itertools.count(1)


def rules(key: HashKey = KEY) -> LandingRules:
    return LandingRules((ColumnRules("customer", drop=("pin",), mask=("phone",), hash=("mail", "born")),), key)


@pytest.fixture
def flow(server: DatabaseServer, dataset: EmulatedDataset, tmp_path: Path) -> Iterator[Flow]:
    number = next(_numbers)
    databases = (NORTH.format(number), SOUTH.format(number))
    with new_source(server, *databases) as source:
        flow = Flow(source, dataset, tmp_path, databases)
        source.run(*(CUSTOMER.format(database) for database in databases))
        source.run(
            f"INSERT INTO customer VALUES {ROWS}", f"INSERT INTO {databases[1]}.customer VALUES ('s@x', NULL, NULL, 1, 3)"
        )
        yield flow


def current(flow: Flow) -> list[dict[str, Any]]:
    """The present rows of both tenants, by `n`, without what capture adds."""
    view = refresh_current(flow.warehouse, TableId(DEFAULT_PROJECT, flow.dataset.name, "customer"), (), Settings())
    _, rows = flow.read(view.id.table)
    names = ("mail", "phone", "born", "pin", "n", "x")
    return sorted(({name: row[name] for name in names if name in row} for row in rows), key=lambda row: row["n"])


def row(n: int, mail: str, born: str | None = None, key: HashKey = KEY) -> dict[str, Any]:
    return {"mail": key.hash(mail.encode()), "phone": None, "born": born and key.hash(born.encode()), "n": n}


def everything(flow: Flow) -> str:
    """All tables with their rows, all messages, and the files of capture."""
    found = [path.read_text() for path in flow.folder.rglob("*") if path.is_file()]
    for item in flow.dataset.client.list_tables(flow.dataset.name):
        found.append(json.dumps(flow.dataset.client.get_table(item).to_api_repr(), default=str))
        found.append(str(flow.dataset.run(f"SELECT * FROM `{item.dataset_id}.{item.table_id}`")))
    return "\n".join([*found, flow.published().decode()])


ADA, GRACE, SOUTHERN = row(1, "ada@example.com", "1815-12-10 01:02:03.450"), row(2, "grace@example.com"), row(3, "s@x")


def test_a_value_that_a_rule_names_is_nowhere(flow: Flow, capsys: pytest.CaptureFixture[str]) -> None:
    flow.rules = rules()
    flow.capture(snapshot=True)
    assert current(flow) == [ADA, GRACE, SOUTHERN]
    flow.source.run("UPDATE customer SET mail = 'ada2@example.com' WHERE n = 1", "DELETE FROM customer WHERE n = 2")
    flow.source.run(
        "ALTER TABLE customer ADD COLUMN x INT", "INSERT INTO customer VALUES ('new@x', '030-1', NULL, 4711, 9, 7)"
    )
    flow.capture()
    ada = row(1, "ada2@example.com", "1815-12-10 01:02:03.450")
    assert current(flow) == [{**ada, "x": None}, {**SOUTHERN, "x": None}, {**row(9, "new@x"), "x": 7}]
    written = everything(flow) + capsys.readouterr().out
    assert not [one for one in (*SECRETS, KEY.secret.decode(), KEY.secret.hex(), *KEY.pads) if one in written]


@pytest.mark.long
def test_rules_that_come_later_replace_every_present_row(flow: Flow) -> None:
    flow.capture(snapshot=True)
    assert [one["pin"] for one in current(flow)] == [4711, 4712, 1]
    flow.rules = rules()
    flow.source.run("DELETE FROM customer WHERE n = 2")
    flow.capture()
    found = current(flow)
    assert [{**one, "pin": None} for one in (ADA, SOUTHERN)] == found
    versions = flow.warehouse.read_versions(TableId(DEFAULT_PROJECT, flow.dataset.name, "customer"))
    assert [version.schema.has("pin") for version in versions].count(False) == 1
    _check_tombstones(flow)


def _check_tombstones(flow: Flow) -> None:
    """The deletions of the former keys lie where these keys landed: the version with hashes has hashes alone."""
    (name,) = [
        item.table_id
        for item in flow.dataset.client.list_tables(flow.dataset.name)
        if "_v_" in item.table_id and "pin" not in [field.name for field in flow.dataset.client.get_table(item).schema]
    ]
    mails = flow.dataset.run(f"SELECT DISTINCT mail FROM `{flow.dataset.name}.{name}`")
    assert mails
    assert {len(str(mail)) for (mail,) in mails} == {64}


def test_another_key_replaces_every_hash(flow: Flow) -> None:
    flow.rules = rules()
    flow.capture(snapshot=True)
    flow.rules = rules(OTHER)
    flow.source.run("FLUSH BINARY LOGS")  # two copies of one second at one position of the log could not be told apart
    flow.capture()
    expected = [
        row(1, "ada@example.com", "1815-12-10 01:02:03.450", OTHER),
        row(2, "grace@example.com", None, OTHER),
        row(3, "s@x", None, OTHER),
    ]
    assert current(flow) == expected
