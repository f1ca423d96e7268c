"""Works at once: free ones, and processes whose steps are made one at a time, each of which may die before any step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from hypothesis import strategies as st


def at_once(*works: Callable[[], object]) -> None:
    """Run each work in a thread; all of them begin at the same time. The first error of one is raised."""
    count = max(len(works), 1)
    start = threading.Barrier(count)

    def begin(work: Callable[[], object]) -> None:
        start.wait()
        work()

    with ThreadPoolExecutor(count) as threads:
        ended = [threads.submit(begin, work) for work in works]
    for one in ended:
        one.result()


class Killed(BaseException):
    """The process dies here."""


def any_order(draw: st.DataObject) -> Callable[[int], int]:
    """Which of n threads makes the next step, at random.

    One seed is drawn and not each turn: threads that read a real server may need another number of steps when they are
    repeated, and Hypothesis refuses draws that differ.
    """
    random = draw.draw(st.randoms(use_true_random=True))
    return random.randrange


class Turns:
    """Threads whose steps are made one at a time, in an order that the test chooses."""

    def __init__(self, choose: Callable[[int], int]) -> None:
        """`choose(n)` returns which of n threads makes the next step."""
        self._choose = choose
        self._condition = threading.Condition()
        self._waiting: list[int] = []
        self._turn: int | None = None
        self._is_over = False

    def run(
        self, works: Sequence[Callable[[Callable[[], None]], None]], steps: Sequence[int | None]
    ) -> list[BaseException | None]:
        """Run each work in a thread; return how each ended.

        Args:
            works: called with a function that each of them calls before each step.
            steps: after how many steps each of them is killed; None for never.
        """
        ends: list[BaseException | None] = [None] * len(works)
        running = set(range(len(works)))

        def thread(number: int) -> None:
            left = steps[number]

            def step() -> None:
                nonlocal left
                self._wait(number)
                if left == 0:
                    raise Killed
                left = None if left is None else left - 1

            try:
                works[number](step)
            except BaseException as error:  # noqa: BLE001 the caller looks at it
                ends[number] = error
            with self._condition:
                running.discard(number)
                self._turn = None
                self._condition.notify_all()

        threads = [threading.Thread(target=thread, args=(number,)) for number in range(len(works))]
        for one in threads:
            one.start()
        try:
            while self._next_turn(running):
                pass
        finally:
            # Without this a choice that raises, as one of Hypothesis may, would leave threads that wait for ever.
            with self._condition:
                self._is_over = True
                self._condition.notify_all()
            for one in threads:
                one.join()
        return ends

    def _next_turn(self, running: set[int]) -> bool:
        """Give the next step to one of the running threads; return False where none runs any more."""
        with self._condition:
            self._condition.wait_for(lambda: self._turn is None and running <= set(self._waiting))
            if not running:
                return False
            self._turn = sorted(running)[self._choose(len(running))]
            self._waiting.remove(self._turn)
            self._condition.notify_all()
            return True

    def _wait(self, number: int) -> None:
        with self._condition:
            if self._turn == number:
                self._turn = None
            self._waiting.append(number)
            self._condition.notify_all()
            self._condition.wait_for(lambda: self._is_over or self._turn == number)
            if self._is_over:
                raise Killed
