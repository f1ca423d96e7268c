"""Changes of each source that Datastream reads come in the order of the source, whatever their sort keys look like.

The keys are those by which Google's own template orders Datastream's events: the time, then the file and the offset in the
binary log (MySQL), the log sequence number (PostgreSQL, SQL Server), or SCN, rs_id and ssn (Oracle). GoogleCloudPlatform,
DataflowTemplates, v2/datastream-to-bigquery; "Datastream: Events and streams",
https://cloud.google.com/datastream/docs/events-and-streams, 2026-11.
"""

from __future__ import annotations

import itertools
import random

import pytest

from onefold.changelog.position import Position

T0, T1 = "1795667415000", "1795667415001"
IN_ORDER: dict[str, list[tuple[str, ...]]] = {
    "MySQL": [
        (T0, "mysql-bin.999999", "4"),
        (T0, "mysql-bin.999999", "154"),
        (T0, "mysql-bin.999999", "1073741824"),
        (T0, "mysql-bin.1000000", "4"),
        (T1, "mysql-bin.000003", "4"),
    ],
    "MariaDB on another host": [(T0, "mariadb-bin.000009", "98"), (T0, "mariadb-bin.000010", "4")],
    "PostgreSQL": [
        (T0, "0/9"),
        (T0, "0/1A2B3C4"),
        (T0, "0/B374D848"),
        (T0, "9/FFFFFFFF"),
        (T0, "A/0"),
        (T0, "16/B374D848"),
        (T1, "0/9"),
    ],
    "Oracle": [
        (T0, "999", " 0x000a.00012345.0010 ", "0"),
        (T0, "1273960", " 0x00000f.00012345.0010 ", "1"),
        (T0, "1273960", " 0x000010.00000001.0010 ", "0"),
        (T0, "1273960", " 0x000010.00000001.0010 ", "9"),
        (T0, "1273960", " 0x000010.00000001.0010 ", "10"),
        (T1, "5", " 0x000a.00012345.0010 ", "0"),
    ],
    "SQL Server": [
        (T0, "0000002d:00000ac0:0015"),
        (T0, "0000002d:00000ac0:001a"),
        (T0, "0000002d:00000b00:0001"),
        (T0, "0000002e:00000001:0001"),
        (T1, "0000002d:00000ac0:0015"),
    ],
    "SQL Server, as its functions write it": [
        (T0, "0000002D00000AC00015"),
        (T0, "0000002D00000AC0001A"),
        (T0, "0000002E000000010001"),
    ],
}


@pytest.mark.parametrize("source", IN_ORDER)
@pytest.mark.parametrize("sequence", [None, "1/FF"])
def test_sort_keys_are_ordered_as_the_source_wrote_them(source: str, sequence: str | None) -> None:
    changes = [str(Position(sequence, int(T0), keys)) for keys in IN_ORDER[source]]
    shuffled = random.Random(7).sample(changes, len(changes))
    assert sorted(shuffled) == changes
    assert all(one < other for one, other in itertools.pairwise(changes))


@pytest.mark.parametrize("source", IN_ORDER)
def test_a_row_of_a_backfill_without_keys_is_older_than_any_change(source: str) -> None:
    backfilled = str(Position(None, None, ()))
    assert all(backfilled < str(Position("1", int(T0), keys)) for keys in IN_ORDER[source])


@pytest.mark.parametrize("keys", [keys for some in IN_ORDER.values() for keys in some])
def test_of_an_update_that_changes_the_key_the_deletion_comes_first(keys: tuple[str, ...]) -> None:
    deletion, upsert = (str(Position("1", int(T0), keys, deleted)) for deleted in (True, False))
    assert deletion < upsert
