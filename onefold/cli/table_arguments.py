"""Tables on a command line: `shop.customer`, a pattern as `'shop.order_*'`, or a table of `--dataset`.

The former forms, `DATASET TABLE` and `--match PATTERN`, work for one release more, with a line that says the new one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import click

from onefold.cli.common import say
from onefold.cli.common_options import DATASET
from onefold.cli.named_tables import NamedTables
from onefold.core.names import is_pattern

all_option = click.option("--all", "all_", is_flag=True, help="All tables of the dataset that have versions.")
match_option = click.option("--match", metavar="PATTERN", hidden=True)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what the command would do, and write nothing.")
Command = TypeVar("Command", bound=Callable[..., Any])
_HOW = "write it as `{path} shop.customer`, many as `{path} 'shop.order_*'`, or name a dataset with --dataset"


def named_tables(words: Sequence[str], dataset: str | None, path: str = "onefold") -> NamedTables:
    """Return the tables that the words of a command line name.

    Args:
        words: the arguments.
        dataset: the value of `--dataset`.
        path: the command, for errors and for the line about a former form.

    Raises:
        UsageError: no dataset is named, a table is an empty text, or there is more than one table or pattern.

    Examples:
        >>> named_tables(["shop.customer"], None)
        NamedTables(dataset='shop', table='customer', match=None)
        >>> named_tables(["order_*"], "shop")
        NamedTables(dataset='shop', table=None, match='order_*')
    """
    match list(words), dataset:
        case [], str():
            return NamedTables(dataset)
        case [], None:
            raise click.UsageError(f"No table is named: {_HOW.format(path=path)}.")
        case [word], _ if "." in word:
            name, _, table = word.partition(".")
            return _table(name, table)
        case [word], str():
            return _table(dataset, word)
        case [word], None:
            say_former(f"{path} {word}", f"{path} --dataset {word}")
            return NamedTables(word)
        case [first, second], _ if "." not in first + second:
            say_former(f"{path} {first} {second}", f"{path} {first}.{second}")
            return _table(first, second)
    raise click.UsageError(f"Expected one table or one pattern, got {' '.join(words)}: {_HOW.format(path=path)}.")


def table_argument(command: Command) -> Command:
    """Give a command the argument `[DATASET.TABLE]` and `--dataset`; its function gets `named`, a NamedTables."""

    @click.argument("words", metavar="[DATASET.TABLE]", nargs=-1)
    @click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
    @functools.wraps(command)
    def with_tables(*arguments: Any, words: tuple[str, ...], dataset: str | None, **options: Any) -> Any:
        path = click.get_current_context().command_path
        return command(*arguments, named=named_tables(words, dataset, path), **options)

    return with_tables  # type: ignore[return-value]


def table_and_version(command: Command) -> Command:
    """Give a command the arguments `DATASET.TABLE VERSION` and `--dataset`; its function gets `named` and `version`."""

    @click.argument("words", metavar="DATASET.TABLE VERSION", nargs=-1)
    @click.option(DATASET.word, metavar=DATASET.metavar, help=DATASET.help)
    @functools.wraps(command)
    def with_version(*arguments: Any, words: tuple[str, ...], dataset: str | None, **options: Any) -> Any:
        path = click.get_current_context().command_path
        named = named_tables(words[:-1], dataset, path) if len(words) > 1 else None
        if not named or not named.table:
            raise click.UsageError(f"Expected a table and a version, as `{path} shop.customer abc`.")
        return command(*arguments, named=named, version=words[-1], **options)

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
