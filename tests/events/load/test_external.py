"""External tables over runs that are not loaded, in moto's Glue, and the views over them and the loaded tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import pytest
from support.external_scene import ID, address, bring, seen, tables
from support.redshift_runs import BUCKET, ENVELOPE
from support.redshift_scene import RUNS, TABLE, RedshiftScene, row_of, run_name, table_of
from support.redshift_server import CONNECTION, ROLE, SCHEMA
from support.shredded_runs import click_table

from onefold.adapters.glue import GlueCatalog
from onefold.adapters.objects_at import run_objects_at
from onefold.adapters.redshift.external import SpectrumViews, external_schema, union_view
from onefold.core.errors import InvalidInput, TryAgain
from onefold.events.load.load import Loader
from onefold.events.load.runs import FolderRuns
from onefold.ports.external_tables import ExternalTable

GOLDEN = Path(__file__).parents[2] / "golden"
ZIP, LONG = ("zip", "VARCHAR(5)"), ("zip", "VARCHAR(50)")


@pytest.fixture
def scene(redshift_scene: RedshiftScene) -> RedshiftScene:
    redshift_scene.server.run("DROP SCHEMA IF EXISTS spectrum CASCADE", "DROP SCHEMA IF EXISTS events CASCADE")
    boto3.client("glue").create_database(DatabaseInput={"Name": "acme"})
    return redshift_scene


def test_a_run_is_read_outside_until_it_is_loaded_and_never_twice(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1), row_of("b", 2)])])
    (report,) = bring()
    assert (report.action, report.added, report.error) == ("create", (f"{RUNS}/run={run_name(0)}",), None)
    assert seen(scene, "id") == [("a", 1), ("b", 2)]
    scene.load()
    bring()
    assert seen(scene, "id") == [("a", 1), ("b", 2)]
    scene.write_values(1, [(table_of(ID), [row_of("c", 3)])])
    bring()
    assert seen(scene, "id") == [("a", 1), ("b", 2), ("c", 3)]
    assert scene.rows("id") == [("a", 1), ("b", 2)]
    scene.load()
    assert seen(scene, "id") == [("a", 1), ("b", 2), ("c", 3)]  # the view of before the load
    assert [one.is_news for one in bring()] == [False]


def test_older_runs_stay_outside_and_recent_ones_are_loaded(scene: RedshiftScene) -> None:
    for second in range(3):
        scene.write_values(second, [(table_of(ID), [row_of(f"r{second}", second)])])
    runs = FolderRuns(RUNS, run_objects_at(RUNS), since=run_name(1))
    assert [report.state for report in Loader(runs, scene.warehouse).load()] == ["loaded", "loaded"]
    bring()
    assert scene.rows("id") == [("r1", 1), ("r2", 2)]
    assert seen(scene, "id") == [("r0", 0), ("r1", 1), ("r2", 2)]


def test_only_files_of_finished_runs_that_their_manifests_list_are_read(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    s3, folder = boto3.client("s3"), table_of().folder
    for run, name in ((run_name(0), "part-of-a-killed-task.parquet"), (run_name(1), "part-00000.parquet")):
        source = {"Bucket": BUCKET, "Key": f"shredded/run={run_name(0)}/{folder}/part-00000.parquet"}
        s3.copy_object(Bucket=BUCKET, Key=f"shredded/run={run}/{folder}/{name}", CopySource=source)
    scene.shred(2, "1-0-0", [ID], {"id_": "csv", "id": 1}, name="com_acme_other_1")
    assert [(one.name, len(one.added)) for one in bring()] == [(TABLE, 1)]
    assert seen(scene, "id") == [("a", 1)]


def test_tables_get_new_columns_and_old_runs_have_none_of_them(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID, ZIP), [row_of("a", 1, "A")])])
    bring()
    scene.load()
    scene.write_values(1, [(table_of(ID, LONG, ("more", "DATE")), [row_of("b", 2, "B" * 50, None)])])
    (report,) = bring()
    assert (report.action, len(report.added)) == ("change", 1)
    assert seen(scene, "id", "zip", "more") == [("a", 1, "A", None), ("b", 2, "B" * 50, None)]
    scene.load()
    assert [one.is_news for one in bring()] == [False]
    assert seen(scene, "id", "zip", "more") == [("a", 1, "A", None), ("b", 2, "B" * 50, None)]


def test_the_view_of_an_adopted_table_has_its_names_and_all_of_its_columns(scene: RedshiftScene) -> None:
    columns = [*ENVELOPE, ("at", "TIMESTAMPTZ"), ("ID", "INT")]
    own = "".join(f', "{name}" {type_}' for name, type_ in columns)
    scene.server.run(f'CREATE TABLE "{SCHEMA}"."old" ("mine" INT{own})')
    adopted = (("mine", "INT"), *columns)
    table = replace(table_of(*columns[len(ENVELOPE) :], name="old"), adopted=adopted)
    scene.write_values(0, [(table, [row_of("a", None, 1)])])
    bring()
    assert seen(scene, '"ID"', "mine", '"at"', table="old") == [("a", 1, None, None)]
    scene.load()
    assert seen(scene, '"ID"', "mine", '"at"', table="old") == [("a", 1, None, None)]


@pytest.mark.parametrize("step", range(5))
def test_what_was_killed_anywhere_is_finished_by_the_next(scene: RedshiftScene, step: int) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    steps: list[str] = []

    def die(name: str) -> None:
        steps.append(name)
        if len(steps) == step + 1:
            raise TryAgain("killed")

    (report,) = tables(die).bring()
    assert str(report.error) == "killed"
    assert bring()[0].error is None
    assert seen(scene, "id") == [("a", 1)]


def test_a_table_of_somebody_else_or_of_other_types_stops_no_other(scene: RedshiftScene) -> None:
    names = ("com_acme_a_1", "com_acme_b_1", "com_acme_c_1")
    scene.write_values(0, [(table_of(ID, name=name), [row_of("a", 1)]) for name in names])
    boto3.client("glue").create_table(
        DatabaseName="acme", TableInput={"Name": names[0], "StorageDescriptor": {"Columns": []}}
    )
    assert [one.error is None for one in bring()] == [False, True, True]
    scene.write_values(1, [(table_of(("id", "BIGINT"), name=names[1]), [row_of("b", 2)])])
    errors = [str(one.error) for one in bring() if one.error]
    assert "onefold has not made: rename or drop it" in errors[0]
    assert "column id in types that one external column cannot read" in errors[1]
    assert seen(scene, "id", table=names[2]) == [("a", 1)]


def test_a_dry_run_writes_nothing(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    assert [(one.action, len(one.added)) for one in bring(dry_run=True)] == [("create", 1)]
    assert boto3.client("glue").get_tables(DatabaseName="acme")["TableList"] == []
    assert scene.server.log == []


def test_runs_that_are_named_are_brought_alone(scene: RedshiftScene) -> None:
    for second in range(2):
        scene.write_values(second, [(table_of(ID), [row_of(f"r{second}", second)])])
        bring() if second == 0 else None
    for second in (2, 3):
        scene.write_values(second, [(table_of(ID), [row_of(f"r{second}", second)])])
    assert [one.added for one in tables().bring([address(3), "s3://elsewhere/run=2026-11-23-08-00-00"])] == [(address(3),)]
    assert seen(scene, "id") == [("r0", 0), ("r3", 3)]
    assert list(tables().bring([])) == []
    assert [one.added for one in bring()] == [(address(1), address(2))]


def test_a_table_is_changed_only_as_it_was_read(scene: RedshiftScene) -> None:
    scene.write_values(0, [(table_of(ID), [row_of("a", 1)])])
    bring()
    catalog, glue = GlueCatalog("acme"), boto3.client("glue")
    found = catalog.find(TABLE)
    assert found is not None
    sent: list[dict[str, Any]] = []
    catalog._client.meta.events.register("provide-client-params.glue.UpdateTable", lambda params, **_: sent.append(params))
    catalog.change(replace(found, columns=(*found.columns, ("more", "INT"))))
    assert [one["VersionId"] for one in sent] == ["2"]
    assert glue.get_table(DatabaseName="acme", Name=TABLE)["Table"]["VersionId"] == "3"


def test_schemas_have_to_be_three() -> None:
    with pytest.raises(InvalidInput) as caught:
        SpectrumViews(CONNECTION, "acme", SCHEMA, "Events")
    assert len(caught.value.problems) == 2


def test_the_statements() -> None:
    loaded = (*click_table("1-0-0", ()).columns[:1], ("mine", "INT"), ("at", "TIMESTAMPTZ"))
    table = ExternalTable(TABLE, (("schema_vendor", "VARCHAR(128)"), ("at", "TIMESTAMP"), ("more", "DATE")), RUNS)
    made = [
        external_schema("spectrum", "acme", ROLE),
        union_view(table, loaded, "atomic", "spectrum", "events"),
        union_view(table, (), "atomic", "spectrum", "events"),
    ]
    assert ";\n\n".join(made) + ";\n" == (GOLDEN / "events" / "redshift_spectrum.sql").read_text()
