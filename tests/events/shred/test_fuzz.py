"""Records with random characters in them: no crash, each is rows or a bad row with reasons."""

from __future__ import annotations

import random

import pytest
from support.shred_events import data_of, document, line, parsed
from support.shred_oracle import csv_cells
from support.shred_scene import (
    LATER,
    PAGE,
    contexts,
    enriched,
    plan,
)

from onefold.core.shred_options import INPUT_FORMS
from onefold.events.shred.bad_rows import KINDS
from onefold.events.shred.manifest import FORMATS
from onefold.events.shred.shredder import Shredder


def fuzzed(chance: random.Random, record: str) -> str:
    """Return a record with some characters exchanged, doubled or left out."""
    for _ in range(chance.choice([0, 1, 1, 3])):
        place = chance.randrange(len(record) + 1)
        replacement = chance.choice(['"', "\\", "\t", "\0", "{", "]", "9" * 25, "e999", "null", "\ud800", "ü", ",", ":", ""])
        record = record[:place] + replacement + record[place + chance.choice([0, 1, 4]) :]
    return record


def check_fuzzed(chance: random.Random, records: int) -> dict[str, int]:
    """Shred records and return their number by the kind of the bad row, `rows` for those that are not bad."""
    counts = dict.fromkeys(("rows", *KINDS), 0)
    for number in range(records):
        if number % 50 == 0:
            source = document(chance)
            schema, form = parsed(source), chance.choice(INPUT_FORMS)
            made = plan(schema, format_=chance.choice(FORMATS), form=form)
            shredder = Shredder(made)
        data = {"schema": chance.choice([schema, schema, LATER, PAGE]).key.uri, "data": data_of(chance, source, 0.02)}
        event = data if form == "self-describing" else enriched(form, contexts=line(chance, contexts(data)))
        record = fuzzed(chance, event if isinstance(event, str) else line(chance, event))
        found = shredder.shred(record)
        assert bool(found.rows) != (found.bad is not None)
        counts[found.bad.kind if found.bad else "rows"] += 1
        for place, row in found.rows:
            values = csv_cells(row) if isinstance(row, str) else row
            assert len(values) == len(made.tables[place].columns)
        if found.bad:
            assert found.bad.original == record
            assert all(found.bad.reasons)
            assert found.bad.reasons
            assert shredder.shred(found.bad.to_json()) == found
    assert sum(counts.values()) == records
    return counts


def test_fuzzed_records_are_rows_or_bad_rows_with_reasons(chance: random.Random) -> None:
    counts = check_fuzzed(chance, 3_000)
    assert (
        min(counts[kind] for kind in ("rows", "unreadable", "invalid", "unknown_schema", "newer_version", "does_not_fit"))
        > 20
    )


@pytest.mark.long
def test_a_hundred_thousand_fuzzed_records(chance: random.Random) -> None:
    assert check_fuzzed(chance, 100_000)["rows"] > 10_000
