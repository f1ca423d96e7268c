"""The sequence of a position as people read it."""

from __future__ import annotations

import pytest

from onefold.changelog.position import readable_sequence


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("mysql-bin." + "3".rjust(40, "0") + "/" + "904".rjust(40, "0"), "mysql-bin.3/904"),
        ("0" * 40, "0"),
        ("mysql-bin.000003", "mysql-bin.000003"),
        (f"a:0{'0' * 40}", "a:0"),
    ],
)
def test_people_read_numbers_without_their_padding(stored: str, shown: str) -> None:
    assert readable_sequence(stored) == shown
