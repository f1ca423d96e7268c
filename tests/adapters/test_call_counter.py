"""The count of requests: each thread has its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from onefold.adapters.call_counter import CallCounter


def test_each_thread_counts_its_own_requests() -> None:
    counter, all_have_begun = CallCounter(), Barrier(4)

    def count(requests: int) -> int:
        all_have_begun.wait(300)
        for _ in range(requests):
            counter.add()
        all_have_begun.wait(300)
        return counter.count

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(count, (1, 2, 3, 4))) == [1, 2, 3, 4]
    assert counter.count == 0
