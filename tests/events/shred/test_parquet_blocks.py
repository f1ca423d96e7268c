"""Files of Parquet with wide columns: each has the columns of its own events."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest
from support.shred_events import registry_of
from support.shred_scene import CLICK, PAGE, contexts, enriched, entity

from onefold.events.shred.shredder import Shredder
from onefold.events.shred.wide import WideRows, plan_wide

blocks = pytest.importorskip("onefold.spark.shred.parquet_blocks")


def test_rows_with_other_columns_begin_another_file_and_rows_with_fewer_do_not() -> None:
    made = plan_wide(registry_of(CLICK, PAGE), "enriched-tsv")
    shred, rows = Shredder(made).shred, WideRows(made.tables)
    events = [
        rows.row(shred(enriched("enriched-tsv", app_id=str(number), contexts=contexts(*entities))).rows)
        for number, entities in enumerate([[], [entity(CLICK, id=1)], [], [entity(PAGE, url="a")], [entity(CLICK, id=2)]])
    ]
    files = blocks.ParquetBlocks(made)
    written = [*(block for event in events for block in files.add(0, [event])), *files.rest()]
    tables = [pq.read_table(io.BytesIO(block.data + b"PAR1")) for block in written]
    assert [(table.column("app_id").to_pylist(), table.column_names[128:]) for table in tables] == [
        (["0"], []),
        (["1", "2"], ["contexts_com_acme_ad_click_1"]),
        (["3", "4"], ["contexts_com_acme_ad_click_1", "contexts_com_acme_page_1"]),
    ]
    assert [block.number for block in written] == [0, 1, 2]
    assert tables[2].column("contexts_com_acme_page_1").to_pylist() == [[{"_schema_version": "1-0-0", "url": "a"}], None]
