"""Tables on a command line: `shop.customer`, a pattern as `'shop.order_*'`, or a table of `--dataset`; several of these.

The former forms, `DATASET TABLE` and `--match PATTERN`, work for one release more, with a line that says the new one.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from onefold.cli.common import say
from onefold.cli.common_options import DATASET, is_typed
from onefold.cli.named_tables import NamedTables
from onefold.cli.runs import run_each
from onefold.core.names import is_pattern

all_option = click.option("--all", "all_", is_flag=True, help="All tables of the dataset that have versions.")
match_option = click.option("--match", metavar="PATTERN", hidden=True)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what the command would do, and write nothing.")
Command = TypeVar("Command", bound=Callable[..., Any])
_HOW = "write it as `{path} shop.customer`, many as `{path} 'shop.order_*'`, or name a dataset with --dataset"
_QUALIFIER = re.compile(r"(?:(.*)([.:]))?([^.:]*)", re.DOTALL)


def named_tables(
    words: Sequence[str], dataset: str | None, path: str = "onefold", *, of_dataset: bool = False
) -> tuple[NamedTables, ...]:
    """Return the tables that the words of a command line name: an entry for each word, or one for all of `--dataset`.

    Args:
        words: the arguments.
        dataset: the value of `--dataset`.
        path: the command, for errors and for the line about a former form.
        of_dataset: whether `--dataset` was typed, so that two words without a dot are two tables, and no former form.

    Raises:
        UsageError: no dataset is named, or a name is an empty text.

    Examples:
        >>> [one.text for one in named_tables(["shop.customer", "shop.order_*"], None)]
        ['shop.customer', 'shop.order_*']
        >>> named_tables(["`my-project.shop.customer`"], None)
        (NamedTables(dataset='shop', table='customer', match=None, project='my-project', among_others=False),)
    """
    match [word.replace("`", "") for word in words], dataset:
        case [], str():
            return (NamedTables(dataset),)
        case [], None:
            raise click.UsageError(f"No table is named: {_HOW.format(path=path)}.")
        case [word], None if word and "." not in word:
            say_former(f"{path} {word}", f"{path} --dataset {word}")
            return (NamedTables(word),)
        case [first, second], _ if "." not in first + second and not is_pattern(first) and not of_dataset:
            say_former(f"{path} {first} {second}", f"{path} {first}.{second}")
            return (_table(first, second),)
    several = list(dict.fromkeys(word.replace("`", "") for word in words))
    return tuple(replace(_named(word, dataset, path), among_others=len(several) > 1) for word in several)


def _named(word: str, dataset: str | None, path: str) -> NamedTables:
    """Return the tables of one word: `TABLE`, `DATASET.TABLE` or `PROJECT.DATASET.TABLE`, where TABLE may be a pattern.

    Raises:
        UsageError: the word has no dataset, and there is no `--dataset`; or a part of it is an empty text.
    """
    before, dot, table = word.rpartition(".")
    if not dot and dataset is None:
        raise click.UsageError(f"{word or 'An empty text'} is in no dataset: {_HOW.format(path=path)}.")
    if not dot:
        return _table(str(dataset), table)
    # BigQuery also writes PROJECT:DATASET.TABLE, and a project may have a dot and a colon, as example.com:shop.
    project, end, name = _QUALIFIER.fullmatch(before).groups()  # type: ignore[union-attr]  # it matches any text
    if end and not project:
        raise click.UsageError(f"No project is named in front of {word}: {_HOW.format(path=path)}.")
    return replace(_table(name, table), project=project or None)


def project_of(named: NamedTables, typed: str | None) -> str | None:
    """Return the project of tables: the one in front of them, else that of `--project`.

    Raises:
        UsageError: both are given, and differ.
    """
    if named.project and typed and named.project != typed:
        raise click.UsageError(
            f"{named.project}.{named.text} is in another project than --project {typed}: leave one of the two out."
        )
    return named.project or typed


def table_argument(command: Command) -> Command:
    """Give a command the argument `[DATASET.TABLE]...` and `--dataset`.

    Its function is called for each word, with `named`, a NamedTables, and with the `project` of the tables.
    """

    @click.argument("words", metavar="[DATASET.TABLE]...", nargs=-1)
    @click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
    @functools.wraps(command)
    def with_tables(
        *arguments: Any, words: tuple[str, ...], dataset: str | None, project: str | None, **options: Any
    ) -> Any:
        found = _from_context(words, dataset)
        runs = [(one, project_of(one, project)) for one in found]
        return run_each(functools.partial(command, *arguments, named=one, project=where, **options) for one, where in runs)

    return with_tables  # type: ignore[return-value]


def _from_context(words: Sequence[str], dataset: str | None) -> tuple[NamedTables, ...]:
    context = click.get_current_context()
    return named_tables(words, dataset, context.command_path, of_dataset=is_typed(context, "dataset"))


def table_and_version(command: Command) -> Command:
    """Give a command the arguments `DATASET.TABLE [VERSION]` and `--dataset`; its function gets `named` and `version`."""

    @click.argument("words", metavar="DATASET.TABLE [VERSION]", nargs=-1)
    @click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
    @functools.wraps(command)
    def with_version(
        *arguments: Any, words: tuple[str, ...], dataset: str | None, project: str | None, **options: Any
    ) -> Any:
        path = click.get_current_context().command_path
        version = words[-1] if len(words) > 1 else None
        found = named_tables(words[:-1] if version else words, dataset, path) if words else ()
        if len(found) != 1 or not found[0].table:
            raise click.UsageError(f"Expected a table, and a version if one is new, as `{path} shop.customer abc`.")
        return command(*arguments, named=found[0], version=version, project=project_of(found[0], project), **options)

    return with_version  # type: ignore[return-value]


def selected(named: NamedTables, all_: bool, match: str | None = None) -> NamedTables:
    """Return the tables that a command that writes works on: it wants a table, a pattern or `--all`.

    Args:
        named: what the arguments name.
        all_: the option `--all`.
        match: the former option `--match`.

    Raises:
        UsageError: not exactly one of them is given.
    """
    if [not named.is_dataset, all_, match is not None].count(True) != 1:
        raise click.UsageError("Expected one of TABLE and --all: name a table or a pattern, or add --all.")
    if match == "":
        raise click.UsageError("Expected a pattern for --match, got an empty text: write --all for all tables.")
    if match is not None:
        path = click.get_current_context().command_path
        say_former("--match PATTERN", f"{path} '{named.dataset}.{match}'")
        return replace(named, match=match)
    return named


def _table(dataset: str, table: str) -> NamedTables:
    if not table:  # as "shop.$TABLE" without a value: never all tables
        raise click.UsageError(f"No table is named behind {dataset}: write {dataset}.customer, or '{dataset}.*' for all.")
    return NamedTables(dataset, match=table) if is_pattern(table) else NamedTables(dataset, table)


def say_former(former: str, new: str) -> None:
    """Say how a command line of a former form is written now."""
    say("yellow", f"`{former}` is a former form, which the next release refuses: write `{new}`")
