"""An id that differs from run to run is named, before pytest-xdist stumbles over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stable_ids import differing_ids
from support.sweeps import sweep

STABLE = """
import pytest
@pytest.mark.parametrize("value", [b"bytes", "text", 1, object()])
def test_one(value): pass
"""
ALONE = ("-c", "/dev/null", "--rootdir", ".", "-p", "no:bqemulator")
UNSTABLE = {
    "a set": "*{'a', 'b', 'c', 'd', 'e'}",
    "compressed bytes": "gzip.compress(b'x' * 99)",
    "a time": "str(time.time())",
    "an address": "str(object())",
    "a random value": "str(uuid.uuid4())",
}


@pytest.mark.process
@pytest.mark.parametrize("value", sweep(UNSTABLE))
def test_an_id_that_differs_is_named(tmp_path: Path, value: str) -> None:
    text = f"import gzip, time, uuid\n{STABLE}\n@pytest.mark.parametrize('value', [{value}])\ndef test_two(value): pass\n"
    (tmp_path / "test_it.py").write_text(text)
    found = differing_ids(tmp_path, ALONE)
    assert found
    assert all("test_two" in line for line in found)


@pytest.mark.process
def test_ids_that_are_the_same_are_not_named(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(STABLE)
    assert differing_ids(tmp_path, ALONE) == []
