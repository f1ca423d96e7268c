"""When the delete scans after a snapshot come."""

from __future__ import annotations

from onefold.capture.deletes import next_delete_scan


def test_delete_scans_come_at_growing_pauses_until_no_message_can_be_undelivered() -> None:
    done, ages, due = 1000, [], next_delete_scan(1000, None)
    while due is not None:
        ages.append(due - done)
        due = next_delete_scan(done, due)
    assert ages == [0, *(600 * 2**power for power in range(10)), 7 * 24 * 3600]


def test_a_late_delete_scan_counts_as_one_of_them() -> None:
    assert next_delete_scan(1000, 1000 + 5000) == 1000 + 10_000
    assert next_delete_scan(1000, 1000 + 8 * 24 * 3600) is None
