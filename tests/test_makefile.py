"""The targets of the Makefile that run tests."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TARGETS = ("test", "test-fast", "test-long")


def recipe(target: str, *words: str) -> list[str]:
    """Return the words of the command that a target runs, without running it."""
    command = ["make", "--no-print-directory", "--dry-run", "--assume-old=.venv/.installed", target, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return shlex.split(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("part", "words"),
    [
        ("tests/merge", ["tests/merge"]),
        ("tests/merge tests/views", ["tests/merge", "tests/views"]),
        ("tests/test_makefile.py::test_a", ["tests/test_makefile.py::test_a"]),
        ("purge and not view", ["-k", "purge and not view"]),
        ("tests/no_such_folder", ["-k", "tests/no_such_folder"]),
    ],
)
def test_a_part_of_the_tests_is_a_path_or_an_expression(target: str, part: str, words: list[str]) -> None:
    run = recipe(target, f"T={part}")
    assert run[-len(words) :] == words
    assert run[: -len(words)] == recipe(target)


@pytest.mark.parametrize("target", TARGETS)
def test_what_failed_last_runs_first_and_the_slowest_tests_are_named_at_the_end(target: str) -> None:
    assert {"--failed-first", "--durations=15"} <= set(recipe(target))
