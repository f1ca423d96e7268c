"""Mutation testing: the score of a package, and the survivors that are explained."""

from __future__ import annotations

import importlib

import pytest
from support.library_caches import clear_the_caches
from support.mutants import (
    PACKAGES,
    ROOT,
    SURVIVORS,
    chosen,
    explained,
    function_of,
    report,
    score_of,
    settings,
    unexplained,
)
from support.seeding import PROFILE

from onefold.schema.types import parse_type

POSITION = "onefold.changelog.position"


def test_what_the_tests_the_type_checker_or_a_timeout_notice_is_noticed() -> None:
    score = score_of("onefold/changelog", {"a": 1, "b": 37, "c": 36, "d": 0, "e": 33, "f": None, "g": -11})
    assert score.noticed == {"tests": 1, "type checker": 1, "timeout": 1}
    assert score.survivors == ("d", "e", "f", "g")
    assert (score.total, round(score.percent, 1)) == (7, 42.9)


def test_a_package_without_mutants_has_noticed_nothing() -> None:
    assert score_of("onefold/changelog", {}).percent == 0


def test_survivors_are_explained_by_their_function_and_number() -> None:
    known = explained("# function number reason\n\nm.f 2 wording of an error\n")
    assert known == {"m.f": 2}
    assert unexplained(["m.x_f__mutmut_1", "m.x_f__mutmut_9", "m.x_g__mutmut_1"], known) == ["m.x_g__mutmut_1"]
    more = ["m.x_f__mutmut_1", "m.x_f__mutmut_2", "m.x_f__mutmut_3"]
    assert unexplained(more, known) == more


def test_the_report_names_the_score_and_each_survivor_without_a_reason() -> None:
    score = score_of(
        "onefold/merge", {"m.x_f__mutmut_1": 0, "m.x_g__mutmut_1": 0, "m.x_g__mutmut_2": 1, "m.x_g__mutmut_3": 37}
    )
    assert report(score, {"m.f": 1}).splitlines() == [
        "onefold/merge: 4 mutants, 50.0 % noticed (1 by tests, 1 by type checker), expected 93 %",
        "  1 survivors are explained in survivors.txt, 1 are not",
        "  m.x_g__mutmut_1",
    ]


@pytest.mark.parametrize(("profile", "kept"), [("mutants", 0), ("fast", 1)])
def test_a_test_begins_without_cached_values_where_mutants_are_tested(
    monkeypatch: pytest.MonkeyPatch, profile: str, kept: int
) -> None:
    monkeypatch.setenv(PROFILE, profile)
    parse_type.cache_clear()
    parse_type("INT64")
    clear_the_caches()
    assert parse_type.cache_info().currsize == kept


def test_one_package_or_all_are_chosen() -> None:
    assert chosen("onefold/schema/") == ["onefold/schema"]
    assert chosen("") == list(PACKAGES)
    with pytest.raises(SystemExit, match=r"expected one of onefold/refresh, .*, got onefold/sink: name one with P="):
        chosen("onefold/sink")


@pytest.mark.parametrize("name", PACKAGES)
def test_the_code_and_the_tests_of_a_package_exist(name: str) -> None:
    package = PACKAGES[name]
    assert all(list(ROOT.glob(pattern)) for pattern in package.files)
    assert all((ROOT / path).exists() for path in package.tests)
    for file, _, test in (one.partition("::") for one in package.left_out):
        assert file.startswith(package.tests)
        assert f"\ndef {test}(" in (ROOT / file).read_text()


def test_a_list_of_one_is_written_as_a_list() -> None:
    assert "source_paths=\n    onefold/schema\nonly_mutate=\n    onefold/schema/*.py\n" in settings(
        "onefold/schema", ["tests"]
    )


def test_tests_that_are_left_out_are_deselected() -> None:
    (left_out,) = PACKAGES["onefold/events/shred"].left_out
    assert f"\n    no:cacheprovider\n    --deselect={left_out}\n" in settings("onefold/events/shred", ["tests"])
    assert "--deselect" not in settings("onefold/schema", ["tests"])


def test_every_explained_survivor_is_in_a_function_that_exists() -> None:
    for name, number in explained(SURVIVORS.read_text()).items():
        module, *path = next(split for split in splits(name) if (ROOT / f"{split[0].replace('.', '/')}.py").is_file())
        found: object = importlib.import_module(module)
        for part in path:
            found = getattr(found, part)
        assert number > 0


def splits(name: str) -> list[list[str]]:
    parts = name.split(".")
    return [[".".join(parts[:count]), *parts[count:]] for count in range(len(parts) - 1, 0, -1)]


def test_a_method_and_a_function_are_named_as_in_the_code() -> None:
    assert function_of(f"{POSITION}.xǁPositionǁ__str____mutmut_3") == f"{POSITION}.Position.__str__"
    assert function_of(f"{POSITION}.x__sections__mutmut_12") == f"{POSITION}._sections"
