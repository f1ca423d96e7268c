"""Tables of events that another loader made: adopted by the command, and filled with events of today and of former times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.adopted_tables import make_table, registry_with_adopted, svv_columns, write_registry
from support.atomic_events import GENERATIONS, REQUIRED
from support.cli import Run
from support.redshift_scene import RedshiftScene
from support.redshift_server import SCHEMA
from support.shred_scene import CLICK, enriched

from onefold.events.shred.manifest import ShreddedTable
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.shredder import Shredder

EVENT = {
    "v_collector": "ssc",
    "v_etl": "enrich",
    "dvce_created_tstamp": "2026-11-23 07:00:00",
    "refr_device_tstamp": "2026-11-23",
}
FORMER = {"0.4.0": 108, "0.6.0": 125}
"""The fields of a line of each release."""


def shred(scene: RedshiftScene, registry: Path, lines: list[str], second: int = 0) -> list[str]:
    """Write a run of events, and return why some are bad."""
    plan = plan_shred(registry_with_adopted(registry, [CLICK]), "csv", "enriched-tsv")
    found = [Shredder(plan).shred(line) for line in lines]
    rows = [f"{row}\n" for one in found for _, row in one.rows]
    events = plan.tables[0]
    table = ShreddedTable(events.name, events.base, "", "", events.columns, events.folder, (), events.adopted)
    scene.write_lines(second, [(table, rows)])
    return [reason for one in found if one.bad for reason in one.bad.reasons]


def stored(scene: RedshiftScene) -> list[dict[str, Any]]:
    with scene.server.connect() as connection:
        cursor = connection.execute(f'SELECT * FROM {SCHEMA}."events" ORDER BY event_id'.encode())
        names = [one.name for one in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("name", "missing"), [("0.4.0", "leave_out"), ("0.6.0", "add"), ("0.10.0, with load_tstamp", "add")]
)
def test_events_are_loaded_into_a_published_table_by_the_names_of_its_columns(
    run: Run, tmp_path: Path, redshift_scene: RedshiftScene, name: str, missing: str
) -> None:
    columns = GENERATIONS[name]
    make_table(redshift_scene.server, "events", columns, REQUIRED)
    write_registry(tmp_path, [CLICK])
    (tmp_path / "columns.json").write_text(svv_columns(redshift_scene.server, "events"))
    words = ("schema", "adopt", "events", "--table", f"{SCHEMA}.events", "--columns", tmp_path / "columns.json")
    assert run(*words, "--missing", missing, "--record", "--registry", tmp_path).code == 0

    today = enriched("enriched-tsv", **EVENT, tr_total="10.99", event_name="click")
    former = "\t".join(enriched("enriched-tsv", **EVENT, event_id="f", app_id="old").split("\t")[: FORMER.get(name, 131)])
    assert shred(redshift_scene, tmp_path, [today, former]) == []
    (report,) = redshift_scene.load()
    assert [str(error) for error in report.errors] == []

    new, old = stored(redshift_scene)
    given = [column for column, _ in columns]
    added = [] if missing == "leave_out" or name not in FORMER else [one for one in new if one not in given]
    assert [*new] == [*given, *added]
    assert ("event_name" in new, str(new["tr_total"]), old["app_id"]) == (name != "0.4.0", "10.99", "old")
    assert str(old[given[4]]) == "2026-11-23 07:00:00"
    assert (new.get("load_tstamp") is None) == ("load_tstamp" not in given)

    assert shred(redshift_scene, tmp_path, [today], second=1) == []
    (report,) = redshift_scene.load()
    assert ([*report.errors], len(stored(redshift_scene))) == ([], 3)
