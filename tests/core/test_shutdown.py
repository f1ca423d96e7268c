"""One failure ends all threads, and the first failure is the one that the process reports."""

from __future__ import annotations

import threading

import pytest

from onefold.core.shutdown import Stop, Stopped


def test_nothing_is_raised_before_the_end() -> None:
    stop = Stop()
    stop.check()
    stop.pause(0)
    assert not stop.is_set()


def test_every_check_and_every_pause_raises_after_the_end() -> None:
    stop = Stop()
    stop.set()
    for wait in (stop.check, lambda: stop.pause(60)):
        with pytest.raises(Stopped):
            wait()


def test_the_first_failure_is_stored() -> None:
    stop, first = Stop(), ValueError("first")
    stop.set(first)
    stop.set(ValueError("second"))
    assert stop.failure is first


def test_an_end_without_a_failure_has_no_failure_later() -> None:
    stop = Stop()
    stop.set()
    stop.set(ValueError("late"))
    assert stop.failure is None


def test_an_error_of_a_thread_ends_the_others_and_is_stored() -> None:
    stop, error = Stop(), ValueError("broken")
    with stop.thread():
        raise error
    assert stop.failure is error
    with stop.thread():
        stop.check()
    assert stop.failure is error


def test_only_the_thread_that_created_the_flag_shows_that_it_is_alive() -> None:
    beats: list[int] = []
    stop = Stop(lambda: beats.append(threading.get_ident()))
    other = threading.Thread(target=stop.check)
    other.start()
    other.join()
    assert beats == []
    stop.check()
    stop.pause(0)
    assert beats == [threading.get_ident()] * 2
