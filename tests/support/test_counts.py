"""A run fails where other tests ran than tests/counts.toml says, and says which kind."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from support.counts import AllowedSkip, counted, problems, read, with_numbers

NUMBERS = {"mysql": 3, "plain": 5}
NO_SERVER = AllowedSkip("test", "no server", {"mysql": 1}, "there is none for this machine")


def test_a_run_of_all_tests_is_complete() -> None:
    assert problems("test", NUMBERS, [], NUMBERS, []) == []


@pytest.mark.parametrize(
    ("ran", "line"),
    [
        ({"mysql": 3, "plain": 4}, "expected 5 tests of kind plain, got 4"),
        ({"mysql": 3, "plain": 6}, "expected 5 tests of kind plain, got 6"),
        ({"plain": 5}, "expected 3 tests of kind mysql, got 0"),
        ({**NUMBERS, "spark": 1}, "expected 0 tests of kind spark, got 1"),
    ],
)
def test_fewer_or_more_tests_of_a_kind_are_named(ran: dict[str, int], line: str) -> None:
    (found,) = problems("test", NUMBERS, [NO_SERVER], ran, [])
    assert found.startswith(line)


def test_a_skip_that_is_not_allowed_is_named_with_its_reason() -> None:
    lines = problems("test", NUMBERS, [NO_SERVER], {"mysql": 2, "plain": 5}, [("mariadbd is missing", ("mysql",))])
    assert lines == ["a test of kind mysql was skipped: mariadbd is missing"]


def test_a_skip_that_is_allowed_counts_once_and_in_its_run_only() -> None:
    skip = ("no server: install one", ("mysql",))
    assert problems("test", NUMBERS, [NO_SERVER], {"mysql": 2, "plain": 5}, [skip]) == []
    (often,) = problems("test", NUMBERS, [NO_SERVER], {"mysql": 1, "plain": 5}, [skip, skip])
    assert often == "2 tests of kind mysql were skipped, 1 may be: no server"
    (elsewhere,) = problems("test-long", NUMBERS, [NO_SERVER], {"mysql": 2, "plain": 5}, [skip])
    assert elsewhere == "a test of kind mysql was skipped: no server: install one"


def test_a_test_of_two_kinds_counts_for_both() -> None:
    assert counted([("emulator", "spark"), ("spark",), ("plain",)]) == {"emulator": 1, "plain": 1, "spark": 2}


def test_new_numbers_leave_what_is_written_by_hand(tmp_path: Path) -> None:
    text = '# why\n\n[[skips]]\nrun = "test"\nreason = "r"\nkinds = { plain = 1 }\nwhy = "w"\n\n[tests.test]\nplain = 1\n'
    new = with_numbers(text, {"test": {"plain": 2}, "test-long": {"mysql": 1}})
    assert new.startswith(text.partition("[tests.")[0])
    assert tomllib.loads(new)["tests"] == {"test": {"plain": 2}, "test-long": {"mysql": 1}}
    assert with_numbers(new, {"test": {"plain": 2}, "test-long": {"mysql": 1}}) == new
    path = tmp_path / "counts.toml"
    path.write_text(new)
    assert read(path) == (tomllib.loads(new)["tests"], [AllowedSkip("test", "r", {"plain": 1}, "w")])


def test_each_allowed_skip_of_the_project_has_its_reason() -> None:
    numbers, allowed = read()
    assert set(numbers) == {"test", "test-long"}
    assert [skip.why for skip in allowed if len(skip.why) < 20 or skip.run not in numbers] == []
