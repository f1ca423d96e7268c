"""The table of unknown entities in Redshift and in BigQuery."""

from __future__ import annotations

import json
from dataclasses import replace

from support.event_loads import EventScene, states
from support.redshift_scene import RedshiftScene
from support.redshift_server import SCHEMA
from support.shred_events import registry_of
from support.shred_scene import CLICK, ID, entity
from support.shredded_runs import envelope, write_run

from onefold.events.shred.manifest import ShreddedTable
from onefold.events.shred.plan import ShredPlan, plan_shred
from onefold.events.shred.shredder import Shredder
from onefold.events.shred.unknown import UNKNOWN_TABLE
from onefold.ports.event_tables import FileFormat

RUN = "2026-11-23-08-00-00"
USER = {"schema": "iglu:com.acme/user/jsonschema/1-0-0", "data": {"name": 'a\t"b" \\N', "ids": [1, None]}}


def planned(format_: FileFormat) -> ShredPlan:
    made = plan_shred(registry_of(CLICK), format_, "self-describing", None, "keep_json")
    return replace(made, run=f"gs://lake/run={RUN}")


def kept_table(plan: ShredPlan) -> ShreddedTable:
    table = plan.tables[-1]
    return ShreddedTable(table.name, table.base, table.version, table.uri, table.columns, table.folder, ())


def test_the_json_of_an_entity_is_read_back_from_redshift(redshift_scene: RedshiftScene) -> None:
    redshift_scene.empty()
    plan = planned("csv")
    record = {**USER, "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"}
    lines = [f"{row}\n" for _, row in Shredder(plan).shred(json.dumps(record)).rows]
    redshift_scene.write_lines(0, [(kept_table(plan), lines)])
    assert redshift_scene.load() != []
    ((id_, uri, place, data),) = redshift_scene.server.query(
        f'SELECT TRIM(root_id), schema_uri, place, data FROM {SCHEMA}."{UNKNOWN_TABLE}"'
    )
    assert (id_, uri, place, json.loads(data)) == (ID, USER["schema"], "record", USER["data"])


def test_the_table_in_bigquery_is_partitioned_as_those_of_schemas_and_has_no_labels(events: EventScene) -> None:
    row = envelope("e1") | {"schema_uri": USER["schema"], "place": "contexts[0]", "run": "r", "data": "{}"}
    write_run(events.folder, RUN, [(kept_table(planned("parquet")), [row])])
    assert states(events.load()) == ["loaded"]
    table = events.dataset.client.get_table(f"{events.dataset.name}.{UNKNOWN_TABLE}")
    assert (table.num_rows, table.labels, table.time_partitioning.field) == (1, {}, "root_tstamp")
    assert table.clustering_fields == ["root_id"]


def test_an_event_of_a_known_schema_needs_no_such_table() -> None:
    plan = planned("csv")
    record = json.dumps({**entity(CLICK, id=1), "event_id": ID, "collector_tstamp": "2026-11-23T08:00:00Z"})
    assert [place for place, _ in Shredder(plan).shred(record).rows] == [1]
