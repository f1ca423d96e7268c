"""Laws of all error texts, read from the code: short, in words, without what only the code knows."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from support.cli import all_commands

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("onefold", "onefold_lab", "functions", "spark_jobs")
ABOUT_EXPRESSIONS = "onefold/core/regular_expressions.py"
"""Texts about regular expressions that people have written: signs of these are their topic."""
ABOUT_TYPES = "onefold/core/declared_types.py"
"""Texts about values of another type than declared: who reads stored values adds the place, and what to do."""
REPORTS = frozenset({"Problem", "Violation", "EventProblem", "TableProblem", "Check", "Refusal", "say"})
MOST_CHARACTERS = 360
"""Three lines of a terminal, with 12 characters for each value."""
VALUE = "{.........}"


@dataclass(frozen=True)
class Text:
    """A text of an error, a value of which is `VALUE`, and the expressions of its values."""

    place: str
    words: str
    values: tuple[str, ...]


def texts_of(path: Path, tree: ast.Module) -> Iterator[Text]:
    """Yield the texts of what a file raises, reports, adds to problems, or yields in a function of problems."""
    place = str(path.relative_to(ROOT))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and re.search(r"problems|warnings|advice|remed", node.name):
            parts = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Yield | ast.Return) and inner.value]
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            parts = list(node.exc.args)
        elif isinstance(node, ast.Call) and is_report(node):
            parts = list(node.args)
        else:
            continue
        for part in parts:
            yield from (Text(f"{place}:{text.lineno}", *written(text)) for text in strings(part))


def is_report(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    reported = re.fullmatch(r"problems\.(append|extend)|click\.\w+(Error|Exception)", name)
    return name.rpartition(".")[2] in REPORTS or bool(reported)


def strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    """Yield the texts in an expression; what is within a text belongs to it."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        yield node
    else:
        for inner in ast.iter_child_nodes(node):
            yield from strings(inner)


def written(node: ast.Constant | ast.JoinedStr) -> tuple[str, tuple[str, ...]]:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    values = [ast.unparse(part).removeprefix("f") for part in parts if isinstance(part, ast.FormattedValue)]
    return "".join(VALUE if isinstance(part, ast.FormattedValue) else str(part.value) for part in parts), tuple(values)  # type: ignore[attr-defined]


@functools.cache
def trees() -> dict[Path, ast.Module]:
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))
    return {path: ast.parse(path.read_text()) for path in files}


@functools.cache
def texts() -> tuple[Text, ...]:
    found = (text for path, tree in trees().items() for text in texts_of(path, tree))
    return tuple(text for text in found if " " in text.words)


def broken(rule: re.Pattern[str], part: str = "words") -> list[str]:
    return [f"{one.place}: {one.words}" for one in texts() if rule.search(str(getattr(one, part)))]


def test_the_texts_are_found() -> None:
    assert len(texts()) > 1_000
    assert len({text.place.partition(":")[0] for text in texts()}) > 200


def test_a_text_takes_at_most_three_lines() -> None:
    assert not [f"{len(one.words)}: {one.place}" for one in texts() if len(one.words) > MOST_CHARACTERS]


def test_no_text_shows_a_regular_expression() -> None:
    expression = re.compile(r"\\[dwsb]|\(\?|\[a-z|\[0-9|\]\+|\.\*\)|\{[0-9],")
    assert not [one for one in broken(expression) if not one.startswith(ABOUT_EXPRESSIONS)]
    assert not broken(re.compile(r"\.pattern\b"), "values")


def test_no_text_names_a_class_a_module_or_a_type_of_the_code() -> None:
    classes = {node.name for tree in trees().values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    several_words = {name for name in classes if re.fullmatch(r"_?(?:[A-Z][a-z]+){2,}", name)}
    assert not broken(re.compile(rf"\b(?:{'|'.join(sorted(several_words))})\b"))
    assert not broken(re.compile(r"\bonefold(?:_lab)?\.(?!yaml|checked)[a-z]|\bself\.|\bNoneType\b|__\w+__"))
    named = broken(re.compile(r"__name__|__class__|error!r|type\("), "values")
    assert not [one for one in named if not one.startswith(ABOUT_TYPES)]


def test_a_list_is_cut_by_one_function() -> None:
    """Lists that the code itself fixes may be whole: constants, in capitals."""
    joined = re.compile(r"""['"][,;] ['"]\.join\((?!(?:sorted\(|map\(\w+, )*\w*\.?_?[A-Z][A-Z_0-9]+\b)""")
    assert not [one for one in broken(joined, "values") if not one.startswith("onefold_lab/")]


def test_a_command_in_a_text_is_one_that_there_is() -> None:
    """Texts and docstrings alike: whoever renames a command or an option finds all that name it."""
    commands = dict(all_commands())
    words_of = ((path, written(text)[0]) for path, tree in trees().items() for text in strings(tree))
    named = [(path, line) for path, words in words_of for line in re.findall(r"(?:`|run: )onefold ([^`;]+)", words)]
    assert len(named) > 50
    assert not [f"{path}: {line}" for path, line in named if not is_command(line.replace(VALUE, "x"), commands)]


def is_command(line: str, commands: dict[str, click.Command]) -> bool:
    words = line.split()
    name = next((" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in commands), None)
    if name is None:
        return False
    known = {option for one in commands[name].params for option in one.opts if not getattr(one, "hidden", False)}
    return {word.partition("=")[0] for word in words if word.startswith("--")} <= known
