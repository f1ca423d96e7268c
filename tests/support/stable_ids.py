"""Ids of tests are the same in each run: the tests are collected twice, and the ids compared.

pytest-xdist collects in several processes, and runs nothing where they find other tests. An id differs where it holds
compressed bytes, a time, a random value, an address, or the order of a set.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
SEEDS = ("1", "2")
PAUSE = 1.1
"""Seconds between the collections: bytes of gzip hold the second at which they were made."""


def differing_ids(folder: Path, words: Sequence[str] = ()) -> list[str]:
    """Return the tests that only one of two collections finds, or in another order, each as a line that names it.

    Args:
        folder: the folder in which pytest runs.
        words: more arguments of pytest.

    Raises:
        RuntimeError: pytest cannot collect.
    """
    first = collected(folder, words, SEEDS[0])
    time.sleep(PAUSE)
    second = collected(folder, words, SEEDS[1])
    both = set(first) & set(second)
    lone = [f"{number}: {one}" for number, ids in (("first", first), ("second", second)) for one in ids if one not in both]
    moved = (f"in another order: {one}" for one, other in zip(first, second, strict=False) if one != other)
    return lone or list(moved)


def collected(folder: Path, words: Sequence[str], seed: str) -> list[str]:
    """Return the ids of the tests, in their order."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", *words]
    # Further options of the person who runs the tests would change what a collection prints.
    environ = {**os.environ, "PYTHONHASHSEED": seed, "TEST_SEED": seed, "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    return [line for line in done.stdout.splitlines() if "::" in line]


def main() -> int:
    found = differing_ids(ROOT)
    for line in found:
        print(line)
    print(
        f"{len(found)} ids differ between two collections"
        if found
        else "the ids of all tests are the same in two collections"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
