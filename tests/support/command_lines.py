"""The commands of a shell script, and whether the command line of Onefold takes them. Nothing is run."""

from __future__ import annotations

import copy
import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

import click

from onefold.cli import cli
from onefold.cli.lab import LabCommand

_HEREDOC = re.compile(r"<<-?'?(\w+)'?(.*\n)(?:.*\n)*?\s*\1\n")
_COMMENT = re.compile(r"(^|\s)#.*$", re.MULTILINE)
_REDIRECTED = re.compile(r"(?<=\s)\d(?=>)")
_SIGNS = ";&|<>()\n"
_WORDS = frozenset(("do", "then", "else", "{", "!", "if", "while", "exec"))
"""Words of the shell before a command."""


def commands(script: str) -> Iterator[list[str]]:
    """Yield the words of each command of a script, without redirections and the words of the shell before it."""
    text = _REDIRECTED.sub("", _COMMENT.sub(r"\1", _HEREDOC.sub(r"\2", script.replace("\\\n", " "))))
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_SIGNS)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t", True, ""
    words: list[str] = []
    is_file = False
    for word in [*lexer, "\n"]:
        if is_file:
            is_file = False
        elif set(word) <= set("<>&") and set(word) & set("<>"):
            is_file = True
        elif word and set(word) <= set(_SIGNS):
            yield from _started(words)
            words = []
        else:
            words.append(word)


def _started(words: list[str]) -> Iterator[list[str]]:
    while words and (words[0] in _WORDS or re.fullmatch(r"\w+=.*", words[0], re.DOTALL)):
        words = words[1:]
    if words:
        yield words


def parse(words: list[str]) -> None:
    """Parse a command line of Onefold as the program does; files need not exist.

    Raises:
        UsageError: the program would refuse it.
    """
    command: click.Command | None = cli
    context: click.Context | None = None
    rest = words
    while command and rest:
        name, *arguments = rest
        with suppress(click.exceptions.Exit):  # of --version and --help
            context = _with_any_file(command).make_context(name, arguments, parent=context)
        command = None
        if context and isinstance(context.command, click.Group):
            rest = [*context._protected_args, *context.args]
            found = context.command.resolve_command(context, list(rest))[1] if rest else None
            command = found.command if isinstance(found, LabCommand) else found


def _with_any_file(command: click.Command) -> click.Command:
    made = copy.copy(command)
    made.params = [_any_file(one) if isinstance(one.type, (click.File, click.Path)) else one for one in command.params]
    return made


def _any_file(parameter: click.Parameter) -> click.Parameter:
    made = copy.copy(parameter)
    made.type = click.STRING
    return made
