"""Options that have got another name: the former one works for one release more, with a line that says so."""

from __future__ import annotations

from collections.abc import Sequence

from onefold.cli.common import say

RENAMED = {
    "merge": {"--show": "--dry-run"},
    "publish": {"--to": "--function"},
    "load-shredded": {"--to": "--target", "--secret": "--password-from"},
    "schema ddl": {"--to": "--target"},
    "schema export": {"--to": "--into"},
    "schema serve": {"--keys": "--keys-file"},
    "sources init": {"--password": "--password-from"},
    "policies key": {"--from": "--key-file"},
}
"""By command, the former names of options with the present ones."""


def with_present_names(command: str, words: Sequence[str]) -> list[str]:
    """Return the words of a command line with the present names of options, and say which were former ones.

    Args:
        command: its name, with the groups that it is in.
        words: what stands behind the command.
    """
    return [_present(word, RENAMED.get(command, {})) for word in words]


def _present(word: str, renamed: dict[str, str]) -> str:
    name, equals, value = word.partition("=")
    if name not in renamed:
        return word
    say_renamed(name, renamed[name])
    return f"{renamed[name]}{equals}{value}"


def say_renamed(former: str, new: str) -> None:
    """Say that an option has another name, under which alone the next release knows it."""
    say("yellow", f"{former} is now {new}; the next release refuses the former name")
