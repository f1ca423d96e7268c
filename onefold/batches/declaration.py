"""How a job declares its arguments: once, as fields of a frozen dataclass that say how they are given, read and checked.

From the declaration are made: the job's command line and its help, the checks of a message, the arguments of a batch, the
options of a command, and the tables in docs/reference/.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import datetime
from types import NoneType
from typing import Annotated, Any, ClassVar, Literal, NoReturn, Self, get_args, get_origin, get_type_hints

from onefold.batches.values import Uri, between, parse_time, parse_uri, parse_uris, split_texts
from onefold.core.errors import InvalidInput

Read = Callable[[str, Any, list[str]], Any]
"""Reads a value from its text (a tuple: from a list of texts). Takes the option, for errors, and a list to add these to."""
Check = Callable[[str, Any], Iterable[str]]
"""Yields what is wrong with a value. Takes the option, for errors, and the value."""

_READ: Mapping[Any, Read] = {Uri: parse_uri, tuple[Uri, ...]: parse_uris, tuple[str, ...]: split_texts, datetime: parse_time}


@dataclass(frozen=True)
class Argument:
    """What a field's type does not tell: `source: Annotated[str, Argument("a source of onefold.yaml", "S")]`.

    Attributes:
        help: what the argument means, as part of a sentence.
        metavar: the value, in help; not for choices and flags.
        choices: the values that may be given; those of the type if empty.
        name: the name in command lines and messages; that of the field if empty.
        otherwise: what holds where the argument is left out; the field's default if empty.
        read: reads the value from one text; None to read it by the field's type.
        check: yields what is wrong with a value that is not None.
        of_batch: what a request means that leaves the argument out, with the {dataset} and the {table} of the request.
        unless: words of other options; where a request has one of them, `of_batch` does not apply.
    """

    help: str
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    name: str = ""
    otherwise: str = ""
    read: Read | None = None
    check: Check | None = None
    of_batch: str = ""
    unless: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """An argument of a job, as the command line has it.

    Attributes:
        field: the name of the field.
        type: the type of the field, without None.
        default: its default; MISSING where the argument is required.
        argument: the rest of the declaration.
    """

    field: str
    type: Any
    default: Any
    argument: Argument

    @property
    def name(self) -> str:
        """The name in messages."""
        return self.argument.name or self.field.replace("_", "-")

    @property
    def word(self) -> str:
        """The word on a command line."""
        return f"--{self.name}"

    @property
    def is_list(self) -> bool:
        """Whether the command line has a word for each value."""
        return get_origin(self.type) is tuple and self.argument.read is None

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that may be given; empty for any."""
        return self.argument.choices or (get_args(self.type) if get_origin(self.type) is Literal else ())

    @property
    def default_text(self) -> str:
        """What holds where the argument is left out, for people; empty where that goes without saying."""
        default = self.default if isinstance(self.default, str | int) and self.default is not False else ""
        return self.argument.otherwise or (f"{default:,}" if isinstance(default, int) else default)

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Add the option to a parser, which leaves out what is not given."""
        how: dict[str, Any] = {"metavar": self.argument.metavar}
        if self.type is bool:
            how = {"action": "store_true"}
        elif self.is_list:
            how |= {"nargs": "+", "action": "extend"}
        elif self.choices:
            how |= {"choices": self.choices}
        elif self.type is int:
            how |= {"type": int}
        text = self.argument.help + (f" (default: {self.default_text})" if self.default_text else "")
        parser.add_argument(self.word, dest=self.field, required=self.default is MISSING, help=text, **how)

    def read(self, given: Any, problems: list[str]) -> Any:
        """Return the value of what the command line gives; what is wrong with it is added to a list."""
        read = self.argument.read or _READ.get(self.type)
        return read(self.word, given, problems) if read else given


@dataclass(frozen=True)
class JobArguments:
    """The arguments of a job. The docstring of a subclass describes the job: `--help` shows it."""

    job: ClassVar[str]
    """The name of the job."""

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Return the options in the order of the fields. A field without an `Argument` is none."""
        hints = get_type_hints(cls, include_extras=True)
        return tuple(
            Option(field.name, _without_none(hints[field.name].__origin__), field.default, argument)
            for field in fields(cls)
            for argument in getattr(hints[field.name], "__metadata__", ())
        )

    @classmethod
    def parse(cls, words: Sequence[str]) -> Self:
        """Return the arguments that the words of a command line give.

        Raises:
            InvalidInput: everything that is wrong with them.
        """
        parser = _Parser(
            prog=f"{cls.job}.py", description=inspect.getdoc(cls), allow_abbrev=False, argument_default=argparse.SUPPRESS
        )
        for option in cls.options():
            option.add_to(parser)
        if empty := [word for word in words if word == "--" or word.endswith("=--")]:  # argparse would drop the value
            raise InvalidInput([f"{word.removesuffix('=--')}: -- is no value" for word in empty])
        given = vars(parser.parse_args(list(words)))
        problems: list[str] = []
        read = {one.field: one.read(given[one.field], problems) for one in cls.options() if one.field in given}
        arguments = cls(**read)
        if problems := [*problems, *arguments.problems()]:
            raise InvalidInput(problems)
        return arguments

    @classmethod
    def completed(cls, words: Sequence[str], dataset: str | None, table: str | None) -> tuple[str, ...]:
        """Return the words of a request, and after them what it means by those that it leaves out.

        Args:
            words: the words of a request.
            dataset: the dataset of the request; None for a job on folders.
            table: the table of the request; None for all tables.
        """
        named = {word.partition("=")[0] for word in words}
        known = {"dataset": dataset, "table": table}
        return (*words, *(
            f"{option.word}={argument.of_batch.format_map(known)}"
            for option in cls.options()
            if (argument := option.argument).of_batch and named.isdisjoint((option.word, *argument.unless))
            and (table is not None or "{table}" not in argument.of_batch)
        ))  # fmt: skip

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the values, each by itself and with each other."""
        for option in self.options():
            check, value = option.argument.check, getattr(self, option.field)
            yield from check(option.word, value) if check and value is not None else ()
        yield from self.conflicts()

    def conflicts(self) -> Iterator[str]:
        """Yield what is wrong with values that do not go together."""
        yield from ()

    @property
    def uris(self) -> list[Uri]:
        """Every table and folder that the job would read or write, which an allow-list has to allow."""
        values = [getattr(self, option.field) for option in self.options()]
        flat = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
        return [item for item in flat if isinstance(item, Uri)]


MAX_PARALLEL = 64
Parallel = Annotated[
    int,
    Argument(
        f"tables at the same time, 1 to {MAX_PARALLEL}", "N", check=between(1, MAX_PARALLEL, " tables at the same time")
    ),
]


class _Parser(argparse.ArgumentParser):
    """A parser that raises an error where argparse ends the process: the function has to answer its message."""

    def error(self, message: str) -> NoReturn:
        """Report wrong usage.

        Raises:
            InvalidInput: always.
        """
        raise InvalidInput(message)


def _without_none(type_: Any) -> Any:
    """Return a type without None. Of another union it is the first type: its `Argument` has to say how it is read."""
    return next(one for one in get_args(type_) if one is not NoneType) if NoneType in get_args(type_) else type_
