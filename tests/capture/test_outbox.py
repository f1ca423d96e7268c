"""Messages in flight: up to which mark all of them are confirmed, and what happens if Pub/Sub takes none."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from support.capture import eventually

from onefold.capture.outbox import ConfirmationTracker, Outbox
from onefold.core.errors import Rejected, TryAgain
from onefold.core.retry import Backoff
from onefold.core.shutdown import Stop, Stopped
from onefold.ports.publisher import Message

Done = Callable[[Exception | None], None]


class Postman:
    """A sender that keeps messages until the test answers them."""

    def __init__(self) -> None:
        self.bag: list[tuple[bytes, Done]] = []

    def publish_soon(self, topic: str, message: Message, done: Done) -> None:
        assert topic == "change-records"
        self.bag.append((message.data, done))

    def answer(self, error: Exception | None = None) -> None:
        bag, self.bag = self.bag, []
        for _, done in bag:
            done(error)


def test_a_mark_is_reached_when_all_before_it_is_confirmed() -> None:
    tracker = ConfirmationTracker(0)
    first, second = tracker.begin(), tracker.begin()
    tracker.mark(1)
    third = tracker.begin()
    tracker.mark(2)
    tracker.confirm(second)
    assert tracker.reached == 0
    tracker.confirm(first)
    assert tracker.reached == 1
    tracker.confirm(third)
    assert tracker.reached == 2
    assert tracker.is_empty


def test_a_mark_waits_for_each_message_that_began_before_it() -> None:
    tracker = ConfirmationTracker("start")
    early = tracker.begin()
    tracker.mark("a")
    tracker.mark("b")
    assert tracker.reached == "start"
    tracker.confirm(early)
    assert tracker.reached == "b"


def test_without_messages_a_mark_is_reached_at_once() -> None:
    tracker = ConfirmationTracker(0)
    tracker.mark(1)
    assert (tracker.reached, tracker.is_empty) == (1, True)


def test_any_order_of_confirmations_reaches_the_last_mark() -> None:
    tracker = ConfirmationTracker(-1)
    messages = []
    for number in range(50):
        messages.append(tracker.begin())
        tracker.mark(number)
    for message in messages[::-1]:
        assert tracker.reached == -1
        tracker.confirm(message)
    assert tracker.reached == 49


@pytest.fixture
def postman() -> Postman:
    return Postman()


def nothing() -> None:
    """Ignore the confirmation."""


def test_sending_waits_while_too_many_bytes_are_in_flight(postman: Postman) -> None:
    outbox = Outbox(postman, "change-records", Stop(), max_bytes=10)
    outbox.send(b"12345", nothing)
    outbox.send(b"12345", nothing)
    sender = threading.Thread(target=outbox.send, args=(b"1", nothing), daemon=True)
    sender.start()
    assert sum(len(data) for data, _ in postman.bag) == 10
    postman.answer()
    sender.join(300)
    assert [data for data, _ in postman.bag] == [b"1"]


def test_a_message_larger_than_the_bound_goes_alone(postman: Postman) -> None:
    Outbox(postman, "change-records", Stop(), max_bytes=10).send(b"x" * 100, nothing)
    assert len(postman.bag) == 1


def test_a_message_is_sent_again_until_it_arrives(postman: Postman, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.capture.outbox.OUTAGE_BACKOFF", Backoff(first=0.01, longest=30.0))
    arrived = threading.Event()
    outbox = Outbox(postman, "change-records", Stop())
    outbox.send(b"a", arrived.set)
    for _ in range(3):
        postman.answer(TryAgain("503"))
        assert not arrived.is_set()
        eventually(lambda: postman.bag)
    postman.answer()
    outbox.drain()
    assert arrived.is_set()


def test_a_rejected_message_ends_the_process_and_is_not_confirmed(postman: Postman) -> None:
    stop, arrived = Stop(), threading.Event()
    Outbox(postman, "change-records", stop).send(b"a", arrived.set)
    postman.answer(Rejected("no such topic"))
    assert isinstance(stop.failure, Rejected)
    assert not arrived.is_set()


def test_waiting_for_room_ends_with_the_process(postman: Postman) -> None:
    stop = Stop()
    outbox = Outbox(postman, "change-records", stop, max_bytes=1)
    outbox.send(b"a", nothing)
    stop.set()
    with pytest.raises(Stopped):
        outbox.send(b"b", nothing)
    with pytest.raises(Stopped):
        outbox.drain()


def test_the_first_failure_is_kept() -> None:
    stop = Stop()
    stop.set(Rejected("first"))
    stop.set(Rejected("second"))
    assert str(stop.failure) == "first"
    with pytest.raises(Stopped):
        stop.pause(60)


def test_an_error_of_a_thread_is_kept_and_ends_all_of_them() -> None:
    stop = Stop()
    with stop.thread():
        raise Rejected("no")
    assert str(stop.failure) == "no"
    with pytest.raises(Stopped):
        stop.check()


def test_a_requested_end_of_a_thread_is_no_failure() -> None:
    stop = Stop()
    with stop.thread():
        raise Stopped
    assert not stop.is_set()
    assert stop.failure is None
