"""The regular expressions that settings may hold: those that Python and RE2 read alike.

RE2 is the engine of BigQuery, Cloud Logging and Terraform. Its syntax: https://github.com/google/re2/wiki/Syntax, 2026-11.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

_MAX_CHARACTERS = 300
_MAX_REPETITIONS = 1_000
"""RE2 accepts no greater number in braces (RE2, "Syntax")."""

# Escapes that mean the same in both engines: with re.ASCII, Python's classes are RE2's.
_ESCAPES = re.compile(r"[dDwW]|[^A-Za-z0-9]")
TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<\w+>|\(\?:|\(\?|[()]|.", re.DOTALL)
"""One token of a regular expression: an escape, a class, the beginning of a group, a parenthesis or one character."""
# Possessive repetition, and a missing lower bound, which RE2 reads as plain text.
_OTHER_REPETITION = re.compile(r"(?:[*+?]|\{[0-9]*,?[0-9]*\})\+|\{,[0-9]+\}")


def regex_problems(text: str) -> list[str]:
    """Return what Python and RE2 read differently in a regular expression, and what one of them cannot read.

    Examples:
        >>> regex_problems("[a-z]+_[0-9]{1,9}")
        []
        >>> regex_problems("a++")
        ['++ is a repetition that RE2 does not have']
    """
    problems = [f"{len(text)} characters are too many: {_MAX_CHARACTERS} are allowed"] if len(text) > _MAX_CHARACTERS else []
    problems += dict.fromkeys(_token_problems(text))
    problems += _repetition_problems(text)
    try:
        # A class that was refused above would make Python warn.
        if not problems:
            re.compile(text, re.ASCII)
    except (re.error, OverflowError) as error:
        problems.append(f"it is no regular expression: {error}")
    return problems


def _repetition_problems(text: str) -> Iterator[str]:
    plain = _without_classes(text)
    for found in _OTHER_REPETITION.finditer(plain):
        yield f"{found[0]} is a repetition that RE2 does not have"
    for number in re.findall(r"[{,]([0-9]+)", plain):
        if int(number) > _MAX_REPETITIONS:
            yield f"{{{number}}} repeats too often: RE2 allows {_MAX_REPETITIONS}"
    if re.search(r"\)\{", plain) and _product_of_repetitions(plain) > _MAX_REPETITIONS:
        yield f"nested repetitions come to more than {_MAX_REPETITIONS}, which is the most that RE2 allows"
    if _repeats_ambiguously(plain):
        yield (
            "a repeated group holds a repetition or a choice, which may take Python for ever: repeat a class, as in [a-z_]+"
        )


def _without_classes(text: str) -> str:
    """Return the expression with an `x` in place of each class and each escape, whose signs have no meaning."""
    return "".join("x" if piece[0] in "[\\" else piece for piece in TOKEN.findall(text))


def _product_of_repetitions(plain: str) -> int:
    """Return the product of all numbers in braces: an upper bound, since some of the repetitions may not be nested."""
    return math.prod(int(number) for number in re.findall(r"([0-9]+)\}", plain))


def _repeats_ambiguously(plain: str) -> bool:
    """Return whether a group that contains a repetition or a choice is itself repeated.

    Python tries every way to divide a text among such repetitions, which can take exponential time. Not every one of them
    is slow, but to find the slow ones takes more work than it is worth.
    """
    # One entry per open group, the outermost first: whether the group contains a repetition or a choice so far.
    groups = [False]
    for index, sign in enumerate(plain):
        if sign == "(":
            groups.append(False)
        elif sign == ")" and len(groups) > 1:
            is_ambiguous = groups.pop()
            if is_ambiguous and plain[index + 1 : index + 2] in ("*", "+", "{"):
                return True
            groups[-1] = groups[-1] or is_ambiguous
        elif sign in "*+?{|" and plain[index - 1 : index + 2] != "(?:":
            groups[-1] = True
    return False


def _token_problems(text: str) -> Iterator[str]:
    for piece in TOKEN.findall(text):
        if piece[0] == "\\" and not _ESCAPES.fullmatch(piece[1:]):
            yield f"{piece} is not allowed: use \\d, \\w, or a character as it is"
        elif piece == "(?" or piece.startswith("(?P<"):
            yield "within a group only (...) and (?:...) are allowed: no look-around, flags, names or references"
        elif piece in ("^", "$"):
            yield f"{piece} is not allowed within a group: the whole name always has to match"
        elif piece[0] == "[" and len(piece) > 1:
            yield from _class_problems(piece)


def _class_problems(piece: str) -> Iterator[str]:
    # Python warns of these sets and may read them as set operations one day; RE2 reads [:alpha:] as a class of its own.
    if re.search(r"\[[:.=]|&&|~~|\|\||--|\[.*\[", piece):
        yield f"{piece} is a class that Python and RE2 may read differently: write single characters and ranges"
    for escape in re.findall(r"\\(.)", piece):
        if not _ESCAPES.fullmatch(escape):
            yield f"\\{escape} is not allowed in a class"
