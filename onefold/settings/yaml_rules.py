"""The keys of onefold.yaml for rules and names of tables: what the schema cannot tell, and their values."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterator, Mapping
from typing import Any

from onefold.core.names import fold_case, problems_of_name
from onefold.core.problems import Path, Problem
from onefold.core.regular_expressions import regex_problems
from onefold.core.text import shown_list
from onefold.core.version_labels import LABELS, LabelledNames
from onefold.core.version_pattern import pattern_problems, without_anchors
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.casts import UTC
from onefold.schema.table_rules import MergeWhen, TableRules
from onefold.settings.yaml_types import read_targets, type_problems, with_inherited

# Names in the tz database whose meaning depends on the machine.
_MACHINE_ZONES = frozenset({"localtime", "Factory"})
_RESERVED_PREFIXES = ("_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER", "_CHANGE_")
_OWN_TABLES = ("customer_base", "customer_merges", "customer_current", "customer_unified")
_INHERITED = (
    "conversions",
    "time_zone",
    "version_column",
    "mixed_numbers",
    "overlap_minutes",
    "current",
    "landed_column",
    "tool",
    "rows",
)

Body = Mapping[str, Any]


def rule_problems(body: Body, at: Path = ()) -> Iterator[Problem]:
    """Yield the problems of the rules of all tables, or of a table."""
    zone, column = body.get("time_zone", UTC), body.get("version_column") or ""
    if not _zone_exists(zone):
        advice = "write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
        yield Problem(f"{zone!r} is unknown; {advice}", (*at, "time_zone"))
    yield from reserved_problems(column, (*at, "version_column"))


def reserved_problems(column: str, at: Path) -> Iterator[Problem]:
    """Yield a problem where the name of a column that Onefold adds is one that BigQuery reserves."""
    if column.upper().startswith(_RESERVED_PREFIXES):
        yield Problem(f"{column!r} starts with a prefix that BigQuery reserves: name another", at)


def table_problems(tables: Body) -> Iterator[Problem]:
    """Yield the problems of the rules of single tables, by their names."""
    for name, entry in tables.items():
        at, body = ("tables", name), entry or {}
        dataset, _, table = name.rpartition(".")
        named = [*(problems_of_name("dataset", dataset) if dataset else []), *problems_of_name("table", table)]
        yield from (Problem(text, at) for text in named)
        yield from rule_problems(body, at)
        yield from type_problems(body.get("types") or {}, (*at, "types"))
        for version in body.get("retire") or ():
            yield from (Problem(text, (*at, "retire")) for text in problems_of_name("version", version))
        yield from _column_problems(body, tables.get(table) or {}, at)
        yield from _tool_problems({**(tables.get(table) or {}), **body}, at)


def name_problems(body: Body, at: Path = ()) -> Iterator[Problem]:
    """Yield the problems of the naming of versioned tables, in all datasets or in one."""
    pattern = without_anchors(body.get("version_pattern", LABELS))
    if pattern != LABELS:
        for text in pattern_problems(pattern) or _own_table_problems(pattern):
            yield Problem(f"{pattern!r}: {text}", (*at, "version_pattern"))
    for key in ("include", "exclude"):
        for expression in body.get(key) or ():
            for text in regex_problems(without_anchors(expression)):
                yield Problem(f"{expression!r}: {text}", (*at, key))


def dataset_problems(datasets: Body) -> Iterator[Problem]:
    """Yield the problems of the naming in single datasets, by their names."""
    for name, body in datasets.items():
        yield from (Problem(text, ("datasets", name)) for text in problems_of_name("dataset", name))
        yield from name_problems(body or {}, ("datasets", name))


def read_rules(body: Body, defaults: TableRules = TableRules()) -> TableRules:  # noqa: B008 frozen
    """Return the rules of a checked mapping; what it does not have is taken from `defaults`."""
    own = {key: body[key] for key in _INHERITED if key in body}
    listed = {key: _columns(body[key]) for key in ("keys", "order_by") if key in body}
    targets = with_inherited(tuple(read_targets(body.get("types") or {})), defaults)
    inherited = {key: getattr(defaults, key) for key in (*_INHERITED, "keys", "order_by")}
    return TableRules(
        **{**inherited, **own, **listed},
        merge_when=_merge_when(body["merge_when"]) if "merge_when" in body else defaults.merge_when,
        types=tuple((target.path, target.type) for target in targets),
        units=tuple((target.path, target.unit) for target in targets if target.unit),
        retired=frozenset(body["retire"] or ()) if "retire" in body else defaults.retired,
    )


def read_tables(tables: Body, defaults: TableRules) -> dict[str, TableRules]:
    """Return the rules of single tables: `shop.customer` inherits what it does not have from `customer`."""
    found: dict[str, TableRules] = {}
    for name, body in sorted(tables.items(), key=lambda entry: "." in entry[0]):
        found[name] = read_rules(body or {}, found.get(name.rpartition(".")[2], defaults))
    return found


def read_names(body: Body, defaults: VersionedNames = DEFAULT_NAMES) -> VersionedNames:
    """Return the naming of versioned tables; a key that the checked mapping does not have is taken from `defaults`."""
    pattern = without_anchors(body.get("version_pattern", defaults.pattern))
    include, exclude = (
        tuple(map(without_anchors, body[key] or ())) if key in body else getattr(defaults, key)
        for key in ("include", "exclude")
    )
    naming = LabelledNames if pattern == LABELS else VersionedNames
    return naming(pattern, include, exclude)


def _column_problems(body: Body, shared: Body, at: Path) -> Iterator[Problem]:
    """Yield columns that are named twice, and columns of the order that say nothing.

    Args:
        body: the entry of the table.
        shared: the entry of the table of all datasets, from which it inherits.
        at: the key in the file.
    """
    for key in ("keys", "order_by"):
        folded = [fold_case(column) for column in body.get(key) or ()]
        for column in dict.fromkeys(one for one in folded if folded.count(one) > 1):
            yield Problem(f"the column {column!r} is given twice; case makes no difference", (*at, key))
    keys, order = (_columns({**shared, **body}.get(key)) for key in ("keys", "order_by"))
    for column in order if "keys" in body or "order_by" in body else ():
        if fold_case(column) in map(fold_case, keys):
            yield Problem(f"all rows of a key have the same {column}: name another column", (*at, "order_by"))


def _tool_problems(body: Body, at: Path) -> Iterator[Problem]:
    """Yield a problem where only one of `tool` and `rows` is there: neither tells what the rows are without the other."""
    if "tool" in body and "rows" not in body:
        yield Problem("`rows` is missing: write history or current, as `onefold discover` says", (*at, "tool"))
    if "rows" in body and "tool" not in body:
        yield Problem("`tool` is missing: write the tool that fills the table, as `onefold discover` says", (*at, "rows"))


def _merge_when(value: str | Mapping[str, Any]) -> MergeWhen | None:
    return None if isinstance(value, str) else MergeWhen(**value)


def _columns(value: list[str] | None) -> tuple[str, ...]:
    return tuple(value or ())


def _own_table_problems(pattern: str) -> Iterator[str]:
    """Yield a problem where a pattern also matches tables that Onefold itself writes."""
    own = [name for name in _OWN_TABLES if VersionedNames(pattern).split(name)]
    if own:
        yield f"it also matches {shown_list(own, joint=' and ')}, which Onefold writes: expected a stricter group `version`"


def _zone_exists(name: str) -> bool:
    # BigQuery would not report a wrong zone: SAFE functions give NULL for it, as for a value out of range.
    return name == UTC or name[0] in "+-" or name in zoneinfo.available_timezones() - _MACHINE_ZONES
