"""The check of a folder: what would be refused if its files were added next."""

from __future__ import annotations

import pytest
from support.schemas import described, fields

from onefold.events.registry.folder import FolderScan
from onefold.events.registry.lint import lint
from onefold.events.registry.order import Rules

CLICKS, VIEWS = "schemas/com.acme/ad_click/jsonschema", "schemas/com.acme/ad_view/jsonschema"
GAP = "1-0-1 is not the first version: use 1-0-0"


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ((), [f"{CLICKS}/1-0-1: /self/version: {GAP}", f"{VIEWS}/1-0-1: /self/version: {GAP}"]),
        ((f"{CLICKS}/1-0-0",), [f"{VIEWS}/1-0-1: /self/version: {GAP}"]),
        ((f"{CLICKS}/1-0-0", f"{VIEWS}/1-0-0"), []),
    ],
)
def test_a_file_that_is_not_valid_makes_no_gap_in_its_own_name_alone(broken: tuple[str, ...], expected: list[str]) -> None:
    schemas = tuple(described(fields(a="string"), "1-0-1", name) for name in ("ad_click", "ad_view"))
    report = lint(FolderScan(schemas, dict.fromkeys(broken, ("not valid",)), (), None), Rules())
    assert list(report.problems) == [*(f"{file}: not valid" for file in broken), *expected]
    assert report.checked == 2 + len(broken)


def test_two_schemas_want_one_name_of_tables() -> None:
    schemas = tuple(described(fields(a="string"), "1-0-0", name) for name in ("ad_click", "ad-click"))
    report = lint(FolderScan(schemas, {}, (), None), Rules())
    assert [problem.partition(" have the same name of tables, ")[2] for problem in report.problems] == [
        "com_acme_ad_click: rename one that is not added yet"
    ]
