"""Files of Parquet with wide columns: each has the columns of its own events."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.shred_events import registry_of
from support.shred_scene import CLICK, PAGE, contexts, enriched, entity

from onefold.events.shred.shredder import Shredder
from onefold.events.shred.wide import WideRows, plan_wide

files = pytest.importorskip("onefold.spark.shred.parquet_files")
table_files = pytest.importorskip("onefold.spark.shred.table_files")
stores = pytest.importorskip("onefold.spark.shred.stores")


def test_rows_with_other_columns_begin_another_file_and_rows_with_fewer_do_not(tmp_path: Path) -> None:
    made = plan_wide(registry_of(CLICK, PAGE), "enriched-tsv")
    shred, rows = Shredder(made).shred, WideRows(made.tables)
    events = [
        rows.row(shred(enriched("enriched-tsv", app_id=str(number), contexts=contexts(*entities))).rows)
        for number, entities in enumerate([[], [entity(CLICK, id=1)], [], [entity(PAGE, url="a")], [entity(CLICK, id=2)]])
    ]
    target = table_files.Target(stores.Stores(), str(tmp_path), {0: "events"}, 3, 8)
    written = files.ParquetFiles(made, target)
    for event in events:
        written.add(0, [event])
    written.close()
    names = [f"part-00003-8.c00{number}.parquet" for number in range(3)]
    assert [(one.name, one.rows) for one in written.written] == list(zip(names, [1, 2, 2], strict=True))
    tables = [pq.read_table(tmp_path / "events" / name) for name in names]
    assert [(table.column("app_id").to_pylist(), table.column_names[128:]) for table in tables] == [
        (["0"], []),
        (["1", "2"], ["contexts_com_acme_ad_click_1"]),
        (["3", "4"], ["contexts_com_acme_ad_click_1", "contexts_com_acme_page_1"]),
    ]
    assert tables[2].column("contexts_com_acme_page_1").to_pylist() == [[{"_schema_version": "1-0-0", "url": "a"}], None]
