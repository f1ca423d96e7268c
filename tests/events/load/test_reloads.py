"""A run is loaded where its rows are in the table: a job counts only for the table and the manifest that it was made for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.cloud.bigquery import Dataset
from support.event_loads import TABLE, EventScene, states
from support.sweeps import sweep
from support.turns import Killed

from onefold.adapters.bigquery.event_tables import BigQueryEventTables
from onefold.events.shred.manifest import MANIFEST

ID = ("id", "INT64")
FIRST, SECOND = "2026-11-23-08-00-00", "2026-11-23-08-00-01"


@pytest.fixture
def loaded(events: EventScene) -> EventScene:
    """Two runs that are loaded; the first one has fewer rows."""
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.shred(SECOND, "1-0-0", [ID], {"id": 2}, {"id": 3})
    events.load()
    return events


def forget(events: EventScene, condition: str = "TRUE") -> None:
    events.dataset.run(f"DELETE FROM {events.dataset.quoted('onefold_manifest')} WHERE {condition}")


def killed_before_the_record(events: EventScene) -> None:
    """Load, and end the process after the load job, before the manifest table lists the rows."""
    warehouse = events.warehouse

    def killed(steps: Any) -> None:
        listed = list(steps)
        if any(step.state == "loaded" for step in listed):
            raise Killed
        BigQueryEventTables._record(warehouse, listed)

    warehouse._record = killed  # type: ignore[method-assign]
    with pytest.raises(Killed):
        list(events.loader(warehouse).load())


def test_a_dataset_that_was_removed_and_made_again_gets_all_rows(loaded: EventScene) -> None:
    client, name = loaded.dataset.client, loaded.dataset.name
    client.delete_dataset(name, delete_contents=True)
    client.create_dataset(Dataset(f"{client.project}.{name}"))
    assert states(loaded.load()) == ["loaded", "loaded"]
    assert loaded.rows("id") == [(1,), (2,), (3,)]


def test_a_table_that_was_dropped_and_is_not_listed_any_more_gets_all_rows(loaded: EventScene) -> None:
    loaded.dataset.client.delete_table(f"{loaded.dataset.name}.{TABLE}")
    forget(loaded)
    assert states(loaded.load()) == ["loaded", "loaded"]
    assert loaded.rows("id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize("forgotten", sweep(["TRUE", f"table_name = '{TABLE}' OR state = 'finished'"]))
def test_a_table_that_was_truncated_and_is_not_listed_any_more_gets_all_rows(loaded: EventScene, forgotten: str) -> None:
    for _ in range(3):
        loaded.dataset.run(f"TRUNCATE TABLE {loaded.dataset.quoted(TABLE)}")
        forget(loaded, forgotten)
        assert states(loaded.load()) == ["loaded", "loaded"]
        assert loaded.rows("id") == [(1,), (2,), (3,)]
        assert loaded.load() == []


def test_one_run_whose_rows_were_deleted_is_loaded_again_without_the_others(loaded: EventScene) -> None:
    loaded.dataset.run(f"DELETE FROM {loaded.dataset.quoted(TABLE)} WHERE id = 1")
    forget(loaded, f"ENDS_WITH(run, 'run={FIRST}')")
    assert states(loaded.load()) == ["loaded"]
    assert loaded.rows("id") == [(1,), (2,), (3,)]


def test_the_load_of_a_killed_loader_counts_for_no_later_table(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    killed_before_the_record(events)
    events.dataset.client.delete_table(f"{events.dataset.name}.{TABLE}")
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,)]


def test_rows_of_others_do_not_stand_for_those_of_a_killed_loader_in_a_table_that_was_made_anew(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    killed_before_the_record(events)
    events.alter(lambda schema: schema)
    new = events.dataset.quoted(TABLE)
    events.dataset.run(f"INSERT INTO {new} (root_id, id) VALUES ('other', 7)")
    assert states(events.load()) == ["loaded"]
    assert sorted(events.rows("id")) == [(1,), (7,)]


def test_the_load_of_a_killed_loader_counts_for_no_table_that_was_emptied_since(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    killed_before_the_record(events)
    events.dataset.run(f"TRUNCATE TABLE {events.dataset.quoted(TABLE)}")
    assert states(events.load()) == ["loaded"]
    assert events.rows("id") == [(1,)]


def test_a_load_of_other_rows_than_the_manifest_lists_is_an_error(events: EventScene) -> None:
    events.shred(FIRST, "1-0-0", [ID], {"id": 1})
    events.shred(SECOND, "1-0-0", [ID], {"id": 2})
    place = events.folder / f"run={FIRST}" / MANIFEST
    manifest = json.loads(place.read_text())
    manifest["tables"][0]["files"][0]["rows"] = manifest["events"] = 5
    place.write_text(json.dumps(manifest))
    for _ in range(2):
        first, *others = events.load()
        assert first.state == "unfinished"
        assert "expected 5 rows, as the files were counted, got 1" in str(first.tables[0].error)
        assert all(other.state == "loaded" for other in others)
    assert events.rows("id") == [(1,), (2,)]
