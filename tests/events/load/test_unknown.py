"""The table of unknown entities in Redshift and in BigQuery."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from support.cli import Run, check_json
from support.event_loads import EventScene, states
from support.redshift_scene import RUNS, RedshiftScene, run_name
from support.redshift_server import DATABASE, ROLE, SCHEMA, WORKGROUP
from support.registries import document, folder_store
from support.shred_events import registry_of
from support.shred_scene import CLICK, ID, entity
from support.shredded_runs import NOON, envelope, shredded_table, write_run

from onefold.adapters.s3 import S3Objects
from onefold.core.shred_options import FileFormat
from onefold.events.registry.json_schema import parse_schema
from onefold.events.shred.bad_entity import parse_bad_entity
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredder
from onefold.events.shred.unknown import UNKNOWN_TABLE

RUN = "2026-11-23-08-00-00"
USER = {"schema": "iglu:com.acme/user/jsonschema/1-0-0", "data": {"name": 'a\t"b" \\N', "ids": [1, None]}}


def planned(format_: FileFormat) -> ShredPlan:
    made = plan_shred(registry_of(CLICK), format_, "self-describing", None, "keep_json")
    return replace(made, run=f"gs://lake/run={RUN}")


def with_user(folder: Path) -> Path:
    folder_store(folder / "registry").add(parse_schema(document("1-0-0", "user")))
    return folder / "registry"


def test_the_json_of_an_entity_is_read_back_from_redshift_and_shredded_once_its_schema_is_known(
    redshift_scene: RedshiftScene, run: Run, tmp_path: Path
) -> None:
    redshift_scene.empty()
    plan = replace(planned("csv"), run=f"{RUNS}/run={run_name(0)}")
    record = {**USER, "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"}
    lines = [f"{row}\n" for _, row in Shredder(plan).shred(json.dumps(record)).rows]
    redshift_scene.write_lines(0, [(shredded_table(plan.tables[-1]), lines)])
    assert redshift_scene.load() != []
    ((id_, uri, place, data),) = redshift_scene.server.query(
        f'SELECT TRIM(root_id), schema_uri, place, data FROM {SCHEMA}."{UNKNOWN_TABLE}"'
    )
    assert (id_, uri, place, json.loads(data)) == (ID, USER["schema"], "record", USER["data"])
    words = ("--runs", RUNS, "--registry", with_user(tmp_path), "--target", "redshift", "--database", DATABASE)
    command = ("bad-rows", "from-table", *words, "--schema", SCHEMA, "--role", ROLE, "--workgroup", WORKGROUP, "--json")
    for new in (True, False):
        written = run(*command)
        check_json(written.out)
        assert (written.result["rows"], written.result["new"]) == (1, new)
    line = S3Objects().read_file(written.result["address"]).decode()
    entity = parse_bad_entity(line.rstrip("\n"))
    assert entity is not None
    assert (entity.root_id, entity.entity.data, entity.kept) == (ID, USER["data"], True)


def test_the_table_in_bigquery_is_as_those_of_schemas_without_labels_and_its_rows_are_shredded_later(
    events: EventScene, run: Run, tmp_path: Path
) -> None:
    where = f"file://{events.folder}/run={RUN}"
    row = envelope("e1") | {"schema_uri": USER["schema"], "place": "contexts[0]", "run": where, "data": '{"id":1}'}
    write_run(events.folder, RUN, [(shredded_table(planned("parquet").tables[-1]), [row])])
    assert states(events.load()) == ["loaded"]
    table = events.dataset.client.get_table(f"{events.dataset.name}.{UNKNOWN_TABLE}")
    assert (table.num_rows, table.labels, table.time_partitioning.field) == (1, {}, "root_tstamp")
    assert table.clustering_fields == ["root_id"]
    folder_store(tmp_path / "own").add(parse_schema(document("1-0-0", "click")))
    registries = ("--registry", tmp_path / "own", "--registry", with_user(tmp_path))
    words = ("--runs", events.folder, *registries, "--dataset", events.dataset.name)
    assert "1 file" in run("bad-rows", "from-table", *words).out
    elsewhere = run("bad-rows", "from-table", "--runs", tmp_path / "none", *words[2:])
    assert (elsewhere.code, "no entity of a schema that the registry has now" in elsewhere.out) == (0, True)
    assert f"Warning: entities of runs in file://{events.folder} stay: name each folder by --runs" in elsewhere.err
    assert "1 bad row in 1 file" in run("bad-rows", "summary", "--runs", events.folder).out
    (path,) = events.folder.glob("kept/*/*.json")
    entity = parse_bad_entity(path.read_text().rstrip("\n"))
    assert entity is not None
    assert (entity.root_id, entity.root_tstamp, entity.entity.data) == ("e1", NOON.replace(tzinfo=None), {"id": 1})


def test_an_event_of_a_known_schema_needs_no_such_table() -> None:
    plan = planned("csv")
    record = json.dumps({**entity(CLICK, id=1), "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"})
    assert [place for place, _ in Shredder(plan).shred(record).rows] == [1]
