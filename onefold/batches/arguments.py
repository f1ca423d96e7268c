"""The arguments of the Spark jobs: parsed and checked for the job itself, its launcher and the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal

from onefold.batches.parsers import compare_parser, reconcile_parser
from onefold.batches.values import Format, Uri, parse_bound, parse_names, parse_uri
from onefold.changelog.position import Position
from onefold.core.errors import InvalidInput

Mode = Literal["merge", "rebuild"]

UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""The text that Debezium writes for a value that is not in the log, unless its option `unavailable.value.placeholder` names
another one.
"""

_HEX = re.compile("hex:([0-9A-Fa-f]{2})+")


@dataclass(frozen=True)
class ReconcileArguments:
    """The arguments of `spark_jobs/reconcile.py`.

    changes: change tables, or folders of changes.
    keys: the columns whose values identify a row of the source; none where tables of BigQuery tell them.
    base: a base table of BigQuery, or the folder that an earlier batch wrote. None: an empty base.
    output: a new folder for the new base; None where the base is a table of BigQuery, which is changed in place.
    start: the beginning of the window, which is part of it: a time of landing, or a sequence of the source.
    end: the end of the window, which is not part of it.
    format: how the changes are written.
    mode: merge the changes into the base, or rebuild it from the changes alone.
    position: the column that orders rows of periodic pulls (`modify_time` only).
    unavailable: the text in place of a value that is not in the log, as Debezium's option spells it (`debezium` only).
    """

    changes: tuple[Uri, ...]
    keys: tuple[str, ...]
    base: Uri | None = None
    output: Uri | None = None
    start: datetime | str | None = None
    end: datetime | str | None = None
    format: Format = "datastream"
    mode: Mode = "merge"
    position: str | None = None
    unavailable: str = UNAVAILABLE_VALUE

    @property
    def window(self) -> str:
        """The window in words for people; empty where the arguments name none."""
        kind = "landed" if any(isinstance(bound, datetime) for bound in (self.start, self.end)) else "sequences"
        kind = f"values of {self.position}" if self.format == "modify_time" else kind
        bounds = [f"{word} {bound}" for word, bound in (("from", self.start), ("to", self.end)) if bound is not None]
        return " ".join([kind, *bounds]) if bounds else ""

    @property
    def whole(self) -> bool:
        """Whether all changes are read, because the arguments name no window."""
        return self.start is None and self.end is None


@dataclass(frozen=True)
class CompareArguments:
    """The arguments of `spark_jobs/compare.py`.

    left: one side of the comparison.
    right: the other side.
    keys: the columns whose values identify a row.
    output: a new folder or a new table for every difference.
    without: columns that are not compared.
    """

    left: Uri
    right: Uri
    keys: tuple[str, ...]
    output: Uri | None = None
    without: tuple[str, ...] = ()


def parse_reconcile(arguments: Sequence[str]) -> ReconcileArguments:
    """Return the arguments of `spark_jobs/reconcile.py`.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> parse_reconcile(["--changes", "bigquery:shop.customer", "--base", "bigquery:shop.customer_base"]).base
        Uri(text='bigquery:shop.customer_base', table=TableId(project=None, dataset='shop', table='customer_base'))
    """
    found = reconcile_parser().parse_args(list(arguments))
    problems: list[str] = []
    parsed = ReconcileArguments(
        changes=tuple(parse_uri("--changes", text, problems) for text in found.changes),
        keys=parse_names("--keys", found.keys, problems) if found.keys is not None else (),
        base=parse_uri("--base", found.base, problems) if found.base is not None else None,
        output=parse_uri("--output", found.output, problems) if found.output is not None else None,
        start=parse_bound(found.start, found.format, problems),
        end=parse_bound(found.end, found.format, problems),
        format=found.format,
        mode=found.mode,
        position=found.position,
        unavailable=UNAVAILABLE_VALUE if found.unavailable is None else found.unavailable,
    )
    problems += _unavailable_problems(found.unavailable, found.format)
    problems += _reconcile_problems(parsed)
    if problems:
        raise InvalidInput(problems)
    return parsed


def parse_compare(arguments: Sequence[str]) -> CompareArguments:
    """Return the arguments of `spark_jobs/compare.py`.

    Raises:
        InvalidInput: everything that is wrong with them.
    """
    found = compare_parser().parse_args(list(arguments))
    problems: list[str] = []
    output = parse_uri("--output", found.output, problems) if found.output is not None else None
    left, right = parse_uri("--left", found.left, problems), parse_uri("--right", found.right, problems)
    without = parse_names("--except", found.without, problems) if found.without is not None else ()
    parsed = CompareArguments(left, right, parse_names("--keys", found.keys, problems), output, without)
    if problems:
        raise InvalidInput(problems)
    return parsed


def uris_of(arguments: ReconcileArguments | CompareArguments) -> list[Uri]:
    """Return every table and folder that a job would read or write, which an allow-list has to allow."""
    found = [getattr(arguments, field.name) for field in fields(arguments)]
    flat = [item for value in found for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in flat if isinstance(item, Uri)]


def command_line(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a message as words of a command line.

    Raises:
        InvalidInput: every value that is neither text, a number nor a list of these.

    Examples:
        >>> command_line({"keys": ["a", "b"], "changes": ["x", "y"]})
        ['--keys=a,b', '--changes', 'x', 'y']
    """
    words: list[str] = []
    problems: list[str] = []
    for name, value in arguments.items():
        items = value if isinstance(value, list) else [value]
        if not items or not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in items):
            problems.append(f"argument {name!r} must be text or a list of texts, and not empty")
            continue
        texts = [str(item) for item in items]
        if not all(text.isprintable() for text in [name, *texts]):
            problems.append(f"argument {name!r} holds characters that are no text")
        if name == "changes" and any(text.startswith("-") for text in texts):
            problems.append("argument 'changes': no URI begins with '-'")
        # One word with "=", because argparse would take a text that begins with "-" for another option.
        words += [f"--{name}", *texts] if name == "changes" else [f"--{name}={','.join(texts)}"]
    if problems:
        raise InvalidInput(problems)
    return words


def _is_empty(arguments: ReconcileArguments) -> bool:
    """Return whether nothing can be in the window. How texts of a column are ordered is unknown without its type."""
    start, end = arguments.start, arguments.end
    if start is None or end is None or (arguments.format == "modify_time" and isinstance(start, str)):
        return False
    return _rank(start) >= _rank(end)


def _rank(bound: datetime | str) -> str:
    """Return a text that sorts as the bounds do, among bounds of one kind."""
    return str(Position(bound)) if isinstance(bound, str) else bound.astimezone(UTC).isoformat(timespec="microseconds")


def _unavailable_problems(text: str | None, format_: Format) -> list[str]:
    if text is None:
        return []
    if format_ != "debezium" or not text:
        return [f"--unavailable-value: expected a text with --format debezium, got {text!r} with {format_}: leave it out"]
    if text.startswith("hex:") and not _HEX.fullmatch(text):
        return [f"--unavailable-value: expected pairs of hexadecimal digits after hex:, got {text!r}: write hex:4f4b"]
    return []


def _reconcile_problems(arguments: ReconcileArguments) -> list[str]:
    problems = []
    in_bigquery = arguments.base is not None and arguments.base.table is not None
    if not arguments.keys and any(uri.table is None for uri in arguments.changes):
        problems.append("--keys: name the columns that identify a row; only tables of BigQuery can tell them")
    if in_bigquery and arguments.output:
        problems.append("--output: a base in BigQuery is merged into, and takes no output")
    if not in_bigquery and not arguments.output:
        problems.append("--output: name a new folder for the new base, or a --base in BigQuery")
    if arguments.output and arguments.output.table:
        problems.append("--output: name a folder; to merge into a table of BigQuery, name it as --base")
    if arguments.base and arguments.output and arguments.base.text.rstrip("/") == arguments.output.text.rstrip("/"):
        problems.append("--output must not be the base: the old base stays whole until the new one is")
    if in_bigquery and arguments.mode == "rebuild" and not arguments.whole:
        problems.append("--mode rebuild makes a base in BigQuery of the whole history: leave out --from and --to")
    if (arguments.format == "modify_time") != (arguments.position is not None):
        problems.append("--position names the column that orders rows, with --format modify_time and only with it")
    if arguments.start is not None and arguments.end is not None and type(arguments.start) is not type(arguments.end):
        problems.append("--from and --to must both be times of landing, or both be sequences")
    elif _is_empty(arguments):
        problems.append(f"nothing is from {arguments.start} to {arguments.end}: --to has to come after --from")
    return problems
