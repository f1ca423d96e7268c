"""The simulation of many tenants: nothing is lost in it, a quota that is hit is named, and its page has what it gives."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale import AFTER, BEFORE, QUOTAS, TABLES, Design, broken, main, merges, pulls, restart, simulate, stream
from benchmarks.scale_engine import Connections, Lags, Pool, RequestLimit, Simulation
from benchmarks.scale_page import PAGE, chart, figures_table, number

SMALL = {design: simulate(100, design) for design in (BEFORE, AFTER)}


@pytest.mark.parametrize("design", [BEFORE, AFTER], ids=["before", "after"])
@pytest.mark.parametrize("tenants", [1, 100, 400])
def test_every_message_has_landed_or_waits_or_is_being_landed(tenants: int, design: Design) -> None:
    found = stream(tenants, design, 20, seed=3)
    sent, landed = found["messages a second"] * 20, found["messages that wait in the end"]
    assert 0 <= landed <= sent
    assert found["rows landed a second"] <= found["rows a second"]
    if not landed:  # only what is under way is not counted
        assert found["rows landed a second"] >= 0.9 * found["rows a second"] - 1


@given(st.lists(st.floats(0, 5), max_size=40), st.integers(1, 5))
def test_a_pool_finishes_what_it_took_and_never_works_on_more_than_it_can(starts: list[float], capacity: int) -> None:
    simulation, most = Simulation(), 0

    def work(_: float) -> float:
        nonlocal most
        most = max(most, pool.busy)
        return simulation.now + 1

    pool = Pool(simulation, capacity, work)
    for start in starts:
        simulation.at(start, lambda: pool.add(1))
    simulation.run()
    assert (pool.taken, pool.finished, len(pool.waiting)) == (len(starts), len(starts), 0)
    assert pool.seconds == pytest.approx(len(starts))
    assert most <= capacity


@given(st.lists(st.floats(0, 3), max_size=60), st.sampled_from([1.0, 10.0, 100.0]))
def test_a_limit_lets_no_more_through_in_a_second_than_its_rate(ready: list[float], rate: float) -> None:
    limit = RequestLimit(rate)
    times = [limit.take(time) for time in sorted(ready)]
    assert all(time >= one for time, one in zip(times, sorted(ready), strict=True))
    assert all(later - earlier >= 1 / rate - 1e-9 for earlier, later in pairwise(times))


def test_events_come_in_the_order_of_their_times() -> None:
    simulation, seen = Simulation(), list[float]()
    for time in (3.0, 1.0, 2.0):
        simulation.at(time, lambda: seen.append(simulation.now))
    simulation.run(until=2.5)
    assert (seen, simulation.now) == ([1.0, 2.0], 2.5)


def test_a_connection_that_was_not_used_for_long_is_opened_again() -> None:
    cache = Connections(2)
    assert [cache.use(table) for table in (1, 2, 1, 3, 2)] == [True, True, False, True, True]
    assert cache.opened == 4


def test_a_lag_that_a_share_of_rows_did_not_exceed() -> None:
    lags = Lags(step=1)
    lags.add(0.5, rows=98)
    lags.add(7.5, rows=2)
    assert (lags.quantile(0.5), lags.quantile(0.99), Lags().quantile(0.99)) == (1, 8, 0)


@pytest.mark.parametrize("name", QUOTAS)
def test_a_quota_that_is_exceeded_is_named_with_how_many_times_and_the_worst_comes_first(name: str) -> None:
    limits = {**QUOTAS, "instances that the sink needs": AFTER.instances}
    quiet = dict.fromkeys(QUOTAS, 0.0)
    assert broken(quiet, AFTER) == []
    assert broken({**quiet, name: limits[name]}, AFTER) == []
    other = next(one for one in QUOTAS if one != name)
    hit = {**quiet, name: 3 * limits[name], other: 2 * limits[other]}
    found = broken(hit, AFTER)
    assert [one for one, _ in found] == [name, other]
    assert [times for _, times in found] == pytest.approx([3, 2])


def test_messages_of_one_table_have_hardly_more_than_one_row_and_those_of_many_have_all_of_a_flush() -> None:
    assert SMALL[BEFORE]["rows in a message"] == pytest.approx(1.4, abs=0.1)
    assert SMALL[AFTER]["rows in a message"] == pytest.approx(25, abs=1)


def test_a_sink_that_is_too_small_falls_behind_and_says_how_many_instances_it_needs() -> None:
    small = stream(400, replace(BEFORE, instances=2), 20, seed=1)
    assert small["messages that wait in the end"] > 0
    assert small["instances that the sink needs"] > 2
    enough = stream(400, replace(BEFORE, instances=100), 20, seed=1)
    assert enough["messages that wait in the end"] == 0
    assert enough["lag, 99 %, s"] < small["lag, 99 %, s"]


def test_a_restart_takes_as_long_as_100_requests_a_second_take() -> None:
    found = restart(1_000, BEFORE)
    assert found["requests of a restart"] == 2 * TABLES * 10
    assert found["minutes until a restart is announced"] * 60 == pytest.approx(2 * TABLES * 10 / 100, rel=0.05)


def test_a_batch_for_each_server_is_a_hundredth_of_one_for_each_database() -> None:
    before, after = (pulls(10_000, design) for design in (BEFORE, AFTER))
    assert before["load jobs a day"] == 288_000
    assert before["batches an hour"] == pytest.approx(100 * after["batches an hour"])
    assert (before["jobs of Cloud Scheduler"], after["jobs of Cloud Scheduler"]) == (20_000, 200)


def test_small_pulls_beyond_the_quota_of_streams_take_load_jobs() -> None:
    assert [pulls(tenants, AFTER)["load jobs a day"] for tenants in (1_000, 10_000)] == [1_440, 288_000 - 240_000]


def test_merges_by_need_are_fewer_and_bill_less() -> None:
    always, needed = (merges(1_000, replace(AFTER, by_need=by_need)) for by_need in (False, True))
    assert needed["merges a day"] < always["merges a day"] == TABLES
    assert needed["TiB of merges a day"] < always["TiB of merges a day"]


def test_ten_times_as_many_tenants_make_ten_times_as_many_rows() -> None:
    few, many = (stream(tenants, AFTER, 20, seed=1)["rows a second"] for tenants in (200, 2_000))
    assert many == pytest.approx(10 * few, rel=0.05)


def test_the_page_has_the_figures_of_100_tenants() -> None:
    page = PAGE.read_text()
    for name, *values in (
        row.strip("| ").split(" | ") for row in figures_table([(100, SMALL[BEFORE], SMALL[AFTER])]).splitlines()[2:]
    ):
        assert f"| {name} | {' | '.join(values)} |" in page, f"{name}: `python -m benchmarks.scale` writes the page anew"


def test_a_chart_is_a_picture_with_a_bar_for_each_value_and_texts_that_are_escaped() -> None:
    drawn = chart("a < b", [("x & y", 0.5, 20), ("z", 3, 0)], " s", mark=1)
    found = ElementTree.fromstring(drawn)
    texts = [one.text for one in found.iter() if one.tag.endswith("text")]
    bars = [one for one in found.iter() if one.tag.endswith("rect") and one.get("height") == "14"]
    assert {"a < b", "x & y", "z", "20 s", "0 s"} <= set(texts)
    assert len(bars) == 4
    assert all(float(one.get("width", "0")) >= 1 for one in bars)


def test_the_charts_of_the_page_are_there() -> None:
    for name in ("quotas", "lags", "costs"):
        assert f"](scale-{name}.svg)" in PAGE.read_text()
        ElementTree.parse(PAGE.parent / f"scale-{name}.svg")


@pytest.mark.long
def test_the_whole_page_and_its_charts_are_what_the_simulation_gives(capsys: pytest.CaptureFixture[str]) -> None:
    files = [PAGE, *sorted(Path(PAGE.parent).glob("scale-*.svg"))]
    before = [path.read_text() for path in files]
    main()
    assert [path.read_text() for path in files] == before
    assert "instances that the sink needs" in capsys.readouterr().out


def test_numbers_are_short() -> None:
    assert [number(value) for value in (0.034, 2, 1_234.5)] == ["0.03", "2", "1,234"]
