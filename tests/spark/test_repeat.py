"""Runs of a job one after another: they go on after an error, and end when they are told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from onefold.core.shutdown import Stop, stopped_by_signal
from onefold.spark.job import INTERRUPTED
from onefold.spark.repeat import repeat


def runs(stop: Stop, *codes: int) -> tuple[list[int], int]:
    """The codes of the runs that were made, the last of which sets the flag while it is at work, and the code at the end."""
    left, made = iter(codes), list[int]()

    def run() -> int:
        made.append(next(left))
        if len(made) == len(codes):
            stop.set()
        return made[-1]

    return made, repeat(run, 0, stop)


@pytest.mark.parametrize(("codes", "expected"), [((0, 0), 0), ((0, 1, 0), 1), ((1,), 1)])
def test_a_run_that_fails_does_not_stop_the_next_one_and_the_code_says_it(codes: tuple[int, ...], expected: int) -> None:
    assert runs(Stop(), *codes) == (list(codes), expected)


def test_nothing_is_run_once_the_flag_is_set() -> None:
    stop = Stop()
    stop.set()
    assert repeat(lambda: pytest.fail("a run was started"), 0, stop) == 0


def test_ctrl_c_ends_all_runs() -> None:
    codes = iter([0, INTERRUPTED])
    assert repeat(lambda: next(codes), 0, Stop()) == INTERRUPTED


def test_a_signal_lets_the_run_in_hand_finish_and_ends_the_pause_after_it() -> None:
    stop, made = Stop(), list[str]()

    def run() -> int:
        os.kill(os.getpid(), signal.SIGTERM)
        made.append("finished")
        return 0

    with stopped_by_signal(stop):
        assert repeat(run, 86_400, stop) == 0
    assert made == ["finished"]


@pytest.fixture
def handler() -> Iterator[object]:
    before = signal.getsignal(signal.SIGTERM)
    yield before
    signal.signal(signal.SIGTERM, before)


def test_what_the_signal_did_before_it_does_again(handler: object) -> None:
    with stopped_by_signal(Stop()):
        assert signal.getsignal(signal.SIGTERM) != handler
    assert signal.getsignal(signal.SIGTERM) == handler
