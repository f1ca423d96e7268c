"""Sizes: a file can be read in one sitting, and nearly every function fits on a screen."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("onefold", "functions", "spark_jobs", "infra", "tests", "benchmarks")
MAX_FILE_LINES = 300
LONG_FILES: dict[str, str] = {}
"""Files that may be longer, each with the reason."""
MAX_FUNCTION_LINES = 30
SHARE_OF_SHORT_FUNCTIONS = 0.9
"""The least share of the functions of onefold/ that have at most MAX_FUNCTION_LINES lines."""


def lines_by_file() -> dict[str, int]:
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): len(path.read_text("utf-8").splitlines()) for path in paths}


def functions_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of lines and the location of each function of a file; decorators are not counted."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            yield node.end_lineno - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"


def test_no_file_is_longer_than_300_lines() -> None:
    long = {name: lines for name, lines in lines_by_file().items() if lines > MAX_FILE_LINES and name not in LONG_FILES}
    assert not long, "\n".join(
        f"{name} has {lines} lines, expected at most {MAX_FILE_LINES}: split the file by topic, "
        "or add it to LONG_FILES in tests/test_sizes.py with a reason"
        for name, lines in sorted(long.items())
    )


def test_every_exception_names_a_long_file_and_a_reason() -> None:
    lines = lines_by_file()
    problems = [
        f"{name} has {lines.get(name, 0)} lines: remove it from LONG_FILES in tests/test_sizes.py"
        for name in LONG_FILES
        if lines.get(name, 0) <= MAX_FILE_LINES
    ]
    assert not problems, "\n".join(problems)
    assert all(LONG_FILES.values()), "give each file of LONG_FILES a reason"


def test_nine_of_ten_functions_have_at_most_30_lines() -> None:
    functions = [function for path in (ROOT / "onefold").rglob("*.py") for function in functions_of(path)]
    long = sorted((function for function in functions if function[0] > MAX_FUNCTION_LINES), reverse=True)
    share = 1 - len(long) / len(functions)
    assert share >= SHARE_OF_SHORT_FUNCTIONS, (
        f"{share:.1%} of the functions of onefold/ have at most {MAX_FUNCTION_LINES} lines, "
        f"expected {SHARE_OF_SHORT_FUNCTIONS:.0%}: split some of these:\n"
        + "\n".join(f"{location}: {lines} lines" for lines, location in long)
    )
