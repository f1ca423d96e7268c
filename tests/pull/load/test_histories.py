"""Random histories: late commits, pulls that are repeated, killed and made two at once, days replaced in any order.

After the daily load of the last day, with no operation since, people read what the source has, but for deletions that no
later load of their day could find; and no committed row is missing longer than until the next daily load.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.load_history import History, check_history
from support.real_source import RealPuller, RealSource
from support.seeding import examples
from support.source_database import SourceDatabase


@pytest.mark.long
@settings(max_examples=examples(100))
@given(st.data())
def test_after_the_last_daily_load_people_read_what_the_source_has(draw: st.DataObject) -> None:
    check_history(History(), draw)


@pytest.mark.long
@settings(max_examples=examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_the_same_with_transactions_of_a_real_server(source: SourceDatabase, draw: st.DataObject) -> None:
    with RealSource.of(source) as table:
        history = History(source=table, make_puller=RealPuller)
        check_history(history, draw)
        assert {key: one.name for key, one in table.rows(history.now).items()} == table.read(history.now)
