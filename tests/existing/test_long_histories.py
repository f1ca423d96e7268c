"""10,000 random changes, written as each tool is documented to write: its current view has the rows of the source."""

from __future__ import annotations

import io
import json
from random import Random
from typing import Any

import pytest
from google.cloud import bigquery
from support.bigquery_emulator import EmulatedDataset
from support.existing_tables import schema
from support.tool_histories import FORMS, Form, present, random_history

from onefold.core.names import TableId
from onefold.existing.current_query import current_query
from onefold.existing.recognise import recognise
from onefold.existing.table import ExistingTable
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

SOURCE = {"id": "INT64", "name": "STRING", "amount": "INT64"}


def current_rows(dataset: EmulatedDataset, form: Form, random: Random) -> tuple[list[Any], list[Any]]:
    """Return the rows of the current view, and those of the source."""
    columns = {**(SOURCE if form.source is None else form.source), **form.added}
    dataset.land(form.table, columns)
    changes = random_history(random, form.changes, form.changes // 15, deletes=form.deletes)
    rows = list(form.write(random, changes))
    config = bigquery.LoadJobConfig(write_disposition="WRITE_APPEND", source_format="NEWLINE_DELIMITED_JSON")
    file = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    dataset.client.load_table_from_file(file, f"{dataset.name}.{form.table}", job_config=config).result()
    table = ExistingTable(form.table, schema(columns), ("id",))
    query = current_query(TableId(DEFAULT_PROJECT, dataset.name, form.table), table, recognise(table))
    return sorted(row[:3] for row in dataset.run(str(query))), present(changes)


@pytest.mark.emulator
@pytest.mark.long
@pytest.mark.parametrize("name", FORMS)
def test_the_current_view_has_the_rows_of_the_source(dataset: EmulatedDataset, name: str, chance: Random) -> None:
    shown, wanted = current_rows(dataset, FORMS[name], chance)
    assert shown == wanted
