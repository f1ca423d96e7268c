"""Work is retried after errors that may pass, with growing pauses, and not after others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from onefold.core.errors import Rejected, TryAgain, ViewChanged
from onefold.core.names import TableId
from onefold.core.retry import CONFLICT_TRIES, Backoff, retry_on_conflict, retry_until_stopped
from onefold.core.shutdown import Stop, Stopped

VIEW = TableId("p", "shop", "customer_unified")


def failing(times: int, error: Exception) -> Callable[[], str]:
    """Return work that fails some times with an error, and then succeeds."""
    left = [error] * times

    def work() -> str:
        if left:
            raise left.pop()
        return "done"

    return work


def test_random_pauses_are_parts_of_the_growing_ones() -> None:
    pauses = Backoff(first=0.5, longest=2.0, jitter=True).pauses()
    assert all(0 <= next(pauses) <= longest for longest in (0.5, 1.0, 2.0, 2.0, 2.0))


def test_work_that_another_writer_interrupts_is_done_again_after_a_pause() -> None:
    pauses: list[float] = []
    assert retry_on_conflict(VIEW, failing(CONFLICT_TRIES - 1, ViewChanged("etag")), pauses.append) == "done"
    assert len(pauses) == CONFLICT_TRIES - 1


def test_a_view_that_others_write_all_the_time_is_left_to_the_next_delivery() -> None:
    with pytest.raises(TryAgain, match=r"p\.shop\.customer_unified: .* \(etag\)") as raised:
        retry_on_conflict(VIEW, failing(CONFLICT_TRIES, ViewChanged("etag")), lambda _: None)
    assert not isinstance(raised.value, ViewChanged)


@pytest.mark.parametrize("error", [TryAgain("503"), Rejected("no")])
def test_only_a_conflict_is_retried_at_once(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        retry_on_conflict(VIEW, failing(1, error), lambda _: None)


def test_work_is_retried_until_it_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.core.retry.OUTAGE_BACKOFF", Backoff(first=0.0, longest=0.0))
    assert retry_until_stopped(failing(20, TryAgain("503")), Stop()) == "done"


def test_an_error_that_cannot_pass_ends_the_retries() -> None:
    with pytest.raises(Rejected):
        retry_until_stopped(failing(1, Rejected("no")), Stop())


def test_a_retry_ends_where_the_process_stops_during_the_pause() -> None:
    stop = Stop()

    def work() -> str:
        stop.set()
        raise TryAgain("503")

    with pytest.raises(Stopped):
        retry_until_stopped(work, stop)
