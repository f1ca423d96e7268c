"""The Spark jobs' arguments: parsed and checked here, for the job itself, the function that launches it and the terminal."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, Literal, NoReturn

from onefold.changelog.position import HEXADECIMAL, Position
from onefold.core.errors import InvalidInput
from onefold.core.names import TableId, fold_case, problems_of_name

Format = Literal["datastream", "debezium", "modify_time"]
Mode = Literal["merge", "rebuild"]

UNAVAILABLE_VALUE = "__debezium_unavailable_value"
"""What Debezium writes for a value that is not in the log; its option `unavailable.value.placeholder` may name another."""

_BIGQUERY = "bigquery:"
_HEX = re.compile("hex:([0-9A-Fa-f]{2})+")
_PATTERN = re.compile(r"[*?\[\]{}]")
_FOLDER = re.compile(r"(gs://[^/\s]+/\S+|file:\S+|[^:\s][^:]*)")


@dataclass(frozen=True)
class Uri:
    """Where rows are: a table of BigQuery (or the base name of versioned ones), or a folder of files."""

    text: str
    table: TableId | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ReconcileArguments:
    """What `spark_jobs/reconcile.py` is to do.

    changes: change tables, or folders of changes.
    base: what they are merged into: a base table of BigQuery, or the folder that an earlier batch wrote. None: an empty one.
    output: a new folder for the new base; None where the base is a table of BigQuery, which is merged into.
    keys: the columns whose values identify a row of the source; none where tables of BigQuery are to tell them.
    start, end: a window, from (included) and to (not included): times of landing, or sequences of the source.
    position: the column that orders rows of periodic pulls (`modify_time` only).
    unavailable: what stands for a value that is not in the log, as Debezium's option spells it (`debezium` only).
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
        """How the window was understood, for people; empty where nobody asked for one."""
        kind = "landed" if any(isinstance(place, datetime) for place in (self.start, self.end)) else "sequences"
        kind = f"values of {self.position}" if self.format == "modify_time" else kind
        bounds = [f"{word} {place}" for word, place in (("from", self.start), ("to", self.end)) if place is not None]
        return " ".join([kind, *bounds]) if bounds else ""

    @property
    def whole(self) -> bool:
        """Whether nobody asked for a window."""
        return self.start is None and self.end is None


@dataclass(frozen=True)
class CompareArguments:
    """What `spark_jobs/compare.py` is to do.

    output: a new folder or a new table for every difference. without: columns that are not compared.
    """

    left: Uri
    right: Uri
    keys: tuple[str, ...]
    output: Uri | None = None
    without: tuple[str, ...] = ()


class _Parser(argparse.ArgumentParser):
    """Raises what is wrong, in place of ending the process: the function has to answer its message."""

    def error(self, message: str) -> NoReturn:
        raise InvalidInput(message)


def reconcile_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="reconcile.py",
        description="Fold a change log into the latest state of each key, in a base table of BigQuery or in a new folder.",
        epilog="A URI is bigquery:dataset.table (or the base name of versioned tables), or a folder of Parquet or JSON "
        "lines: gs://bucket/folder, file:/folder or a path.",
        allow_abbrev=False,
    )
    parser.add_argument("--changes", nargs="+", required=True, metavar="URI", help="change tables, or folders of changes")
    parser.add_argument("--base", metavar="URI", help="what they are merged into; one that is not there is an empty one")
    parser.add_argument("--output", metavar="URI", help="a new folder for the new base; not with a base in BigQuery")
    parser.add_argument("--keys", metavar="A,B", help="the columns that identify a row; tables of BigQuery may tell them")
    parser.add_argument("--from", dest="start", metavar="PLACE", help="a window's start: a time of landing or a sequence")
    parser.add_argument("--to", dest="end", metavar="PLACE", help="its end, which is not part of it")
    parser.add_argument(
        "--format",
        choices=("datastream", "debezium", "modify_time"),
        default="datastream",
        help="how changes are written (default: datastream)",
    )
    parser.add_argument("--mode", choices=("merge", "rebuild"), default="merge", help="rebuild: from the changes alone")
    parser.add_argument("--position", metavar="COLUMN", help="what orders rows of periodic pulls (format modify_time)")
    parser.add_argument(
        "--unavailable-value",
        dest="unavailable",
        metavar="TEXT",
        help="Debezium's unavailable.value.placeholder, where that is set (format debezium)",
    )
    return parser


def compare_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="compare.py", description="Compare two sets of rows, row by row.", allow_abbrev=False)
    parser.add_argument("--left", required=True, metavar="URI", help="one side: a table, a view or a folder")
    parser.add_argument("--right", required=True, metavar="URI", help="the other side")
    parser.add_argument("--keys", required=True, metavar="A,B", help="the columns that identify a row")
    parser.add_argument("--output", metavar="URI", help="a new folder or table for every difference")
    parser.add_argument("--except", dest="without", metavar="A,B", help="columns that are not compared")
    return parser


def parse_reconcile(arguments: Sequence[str]) -> ReconcileArguments:
    """Raises InvalidInput with every fault."""
    found = reconcile_parser().parse_args(list(arguments))
    problems: list[str] = []
    parsed = ReconcileArguments(
        changes=tuple(_uri("--changes", text, problems) for text in found.changes),
        keys=_names("--keys", found.keys, problems) if found.keys is not None else (),
        base=_uri("--base", found.base, problems) if found.base is not None else None,
        output=_uri("--output", found.output, problems) if found.output is not None else None,
        start=_place(found.start, found.format, problems),
        end=_place(found.end, found.format, problems),
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
    """Raises InvalidInput with every fault."""
    found = compare_parser().parse_args(list(arguments))
    problems: list[str] = []
    output = _uri("--output", found.output, problems) if found.output is not None else None
    left, right = _uri("--left", found.left, problems), _uri("--right", found.right, problems)
    without = _names("--except", found.without, problems) if found.without is not None else ()
    parsed = CompareArguments(left, right, _names("--keys", found.keys, problems), output, without)
    if problems:
        raise InvalidInput(problems)
    return parsed


PARSERS: Mapping[str, Callable[[Sequence[str]], ReconcileArguments | CompareArguments]] = {
    "reconcile": parse_reconcile,
    "compare": parse_compare,
}
"""The jobs by name, each with what reads its arguments."""


def uris_of(arguments: ReconcileArguments | CompareArguments) -> list[Uri]:
    """Everything that a job would read or write, for the allow-lists."""
    found = [getattr(arguments, field.name) for field in fields(arguments)]
    flat = [item for value in found for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in flat if isinstance(item, Uri)]


def command_line(arguments: Mapping[str, Any]) -> list[str]:
    """Arguments of a message as words: `{"keys": ["a", "b"], "changes": ["x", "y"]}` is `--keys a,b --changes x y`.

    Raises:
        InvalidInput: every value that is neither text, a number nor a list of such.
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
        # One word with "=": text that begins with "-" is a value all the same.
        words += [f"--{name}", *texts] if name == "changes" else [f"--{name}={','.join(texts)}"]
    if problems:
        raise InvalidInput(problems)
    return words


def _uri(option: str, text: str, problems: list[str]) -> Uri:
    if text.startswith(_BIGQUERY):
        return Uri(text, _table(option, text, problems))
    if not _FOLDER.fullmatch(text):
        problems.append(f"{option} {text!r}: name bigquery:dataset.table, gs://bucket/folder, file:/folder or a path")
    elif _PATTERN.search(text):
        problems.append(f"{option} {text!r}: name one folder; Spark would read * ? [ ] {{ }} as a pattern for others")
    return Uri(text)


def _table(option: str, text: str, problems: list[str]) -> TableId:
    parts = text.removeprefix(_BIGQUERY).split(".")
    kinds = {2: ("dataset", "table"), 3: ("project", "dataset", "table")}.get(len(parts))
    if not kinds:
        problems.append(f"{option} {text!r}: name a table as bigquery:dataset.table or bigquery:project.dataset.table")
        return TableId(None, None, "")
    problems += [
        f"{option}: {problem}" for kind, part in zip(kinds, parts, strict=True) for problem in problems_of_name(kind, part)
    ]
    return TableId(parts[0] if len(parts) == len(("project", "dataset", "table")) else None, parts[-2], parts[-1])


def _names(option: str, text: str, problems: list[str]) -> tuple[str, ...]:
    """Each once, as it is spelled first: a name in another case is the same one."""
    names: dict[str, str] = {}
    for name in text.split(","):
        names.setdefault(fold_case(name.strip()), name.strip())
    if not all(names):
        problems.append(f"{option} {text!r}: name columns, separated by commas")
    return tuple(names.values())


def _place(text: str | None, format_: Format, problems: list[str]) -> datetime | str | None:
    """A time of landing where the text is a date or a time, UTC where it names no zone; else a sequence.

    With periodic pulls it is a value of the column that orders them, which may be any text.
    """
    if text is None:
        return None
    if not re.match(r"\d{4}-\d\d-\d\d", text):
        if format_ == "modify_time":
            return text
        if not any(letter.isdigit() for letter in text) and not re.fullmatch(HEXADECIMAL[1:-1], text):
            problems.append(f"{text!r} is neither a time of landing, as 2024-05-01T12:00:00Z, nor a sequence of the source")
        return text
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        problems.append(f"{text!r} is no time: {error}")
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _is_empty(arguments: ReconcileArguments) -> bool:
    """Whether nothing can be in the window. How texts of a column are ordered is known only with its type."""
    start, end = arguments.start, arguments.end
    if start is None or end is None or (arguments.format == "modify_time" and isinstance(start, str)):
        return False
    return _rank(start) >= _rank(end)


def _rank(place: datetime | str) -> str:
    """Text that sorts as the places do, among places of one kind."""
    return str(Position(place)) if isinstance(place, str) else place.astimezone(UTC).isoformat(timespec="microseconds")


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
