"""External tables after calls at once, kills, failures and changes by people: what is missing is found in the catalogue."""

from __future__ import annotations

import json
from collections.abc import Callable

import boto3
import pytest
from support.external_scene import ID, address, bring, seen, tables
from support.redshift_runs import BUCKET
from support.redshift_scene import TABLE, RedshiftScene, row_of, run_name, table_of

from onefold.core.errors import TryAgain
from onefold.events.load.external import ExternalReport
from onefold.events.load.queue_handler import QueueHandler
from onefold.events.shred.manifest import MANIFEST

MORE, OTHER = ("more", "VARCHAR(5)"), ("other", "VARCHAR(5)")


@pytest.fixture
def scene(redshift_scene: RedshiftScene) -> RedshiftScene:
    redshift_scene.server.run("DROP SCHEMA IF EXISTS spectrum CASCADE", "DROP SCHEMA IF EXISTS events CASCADE")
    boto3.client("glue").create_database(DatabaseInput={"Name": "acme"})
    return redshift_scene


@pytest.mark.parametrize("step", ["create", "view", "add_runs"])
def test_two_calls_at_once_leave_a_view_of_all_columns(scene: RedshiftScene, step: str) -> None:
    scene.write_values(0, [(table_of(ID, MORE), [row_of("a", 1, "m")])])
    second: list[ExternalReport] = []

    def other_call(name: str) -> None:
        if name == step and not second:
            scene.write_values(1, [(table_of(ID, OTHER), [row_of("b", 2, "o")])])
            second.extend(tables().bring([address(1)]))

    first = list(tables(other_call).bring([address(0)]))
    assert [one.error for one in (*first, *second)] == [None, None]
    assert seen(scene, "id", "more", "other") == [("a", 1, "m", None), ("b", 2, None, "o")]


def test_a_dropped_table_comes_back_with_all_finished_runs_also_after_a_kill(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    bring()
    boto3.client("glue").delete_table(DatabaseName="acme", Name=TABLE)
    scene.write_values(1, [(table_of(ID), [row_of("b", 2)])])
    scene.write_values(2, [(table_of(ID), [row_of("c", 3)])])

    def die(name: str) -> None:
        if name == "add_runs":
            raise TryAgain("killed")

    (report,) = tables(die).bring([address(1)])
    assert (str(report.error), tables().missing([address(0)])) == ("killed", {address(0)})
    assert [one.error for one in tables().bring([address(2)])] == [None]
    assert seen(scene, "id") == [("a", 1), ("b", 2), ("c", 3)]
    assert tables().missing([address(number) for number in range(3)]) == set()


def test_what_people_note_on_tables_and_columns_stays(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    bring()
    glue = boto3.client("glue")
    table = glue.get_table(DatabaseName="acme", Name=TABLE)["Table"]
    noted = {name: table[name] for name in ("Name", "StorageDescriptor", "PartitionKeys", "TableType", "Parameters")}
    noted["StorageDescriptor"]["Columns"][-1]["Comment"] = "of the click"
    noted["PartitionKeys"][0]["Comment"] = "of the shredder"
    noted["Parameters"]["team"] = "shop"
    glue.update_table(DatabaseName="acme", TableInput={**noted, "Description": "clicks", "Owner": "shop"})
    scene.write_values(1, [(table_of(ID, MORE), [row_of("b", 2, "m")])])
    assert [one.action for one in bring()] == ["change"]
    table = glue.get_table(DatabaseName="acme", Name=TABLE)["Table"]
    columns = {one["Name"]: one.get("Comment") for one in table["StorageDescriptor"]["Columns"]}
    assert (table["Description"], table["Owner"], table["Parameters"]["team"]) == ("clicks", "shop", "shop")
    assert (columns["id"], columns["more"], table["PartitionKeys"][0]["Comment"]) == (
        "of the click",
        None,
        "of the shredder",
    )


def handled(scene: RedshiftScene, *numbers: int, before: Callable[[str], None] = lambda _: None) -> list[str]:
    """Handle a message about runs, and return the messages that are delivered again."""
    keys = [f"shredded/run%3D{run_name(number)}/{MANIFEST}" for number in numbers]
    body = {"Records": [{"s3": {"bucket": {"name": BUCKET}, "object": {"key": key}}} for key in keys]}
    batch = {"Records": [{"messageId": "m", "body": json.dumps(body)}]}
    answer = QueueHandler(scene.loader(), external=tables(before)).handle(batch)
    return [one["itemIdentifier"] for one in answer["batchItemFailures"]]


def test_a_run_of_csv_changes_the_view_of_a_table(scene: RedshiftScene) -> None:
    scene.shred(0, "1-0-0", [ID], {"id_": "a", "id": 1})
    assert (handled(scene, 0), boto3.client("glue").get_tables(DatabaseName="acme")["TableList"]) == ([], [])
    scene.write_values(1, [(table_of(ID), [row_of("b", 2)])])
    scene.shred(2, "1-0-0", [ID, MORE], {"id_": "c", "id": 3, "more": "m"})
    assert (handled(scene, 1), handled(scene, 2)) == ([], [])
    assert seen(scene, "id", "more") == [("a", 1, None), ("b", 2, None), ("c", 3, "m")]


def test_a_look_brings_what_an_earlier_look_has_not_brought(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])

    def fail(name: str) -> None:
        raise TryAgain(f"no {name}")

    assert (handled(scene, before=fail), scene.rows("id")) == ([], [("a", 1)])
    assert (handled(scene), tables().missing([address(0)])) == ([], set())
    assert seen(scene, "id") == [("a", 1)]
