"""onefold.yaml: the settings of tables and datasets. The file is checked strictly, and all problems are reported at once."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onefold.core.names import fold_case, problems_of_name
from onefold.core.regular_expressions import regex_problems
from onefold.core.version_labels import LABELS, LabelledNames
from onefold.core.version_pattern import pattern_problems, without_anchors
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.casts import UTC
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.table_rules import TableRules
from onefold.settings.captures import CaptureSettings
from onefold.settings.checked_form import is_form, read_form
from onefold.settings.sources import Source
from onefold.settings.unknown_keys import not_a_setting
from onefold.settings.yaml_captures import read_captures
from onefold.settings.yaml_loader import load_yaml
from onefold.settings.yaml_policies import read_policies
from onefold.settings.yaml_sources import read_sources
from onefold.settings.yaml_types import read_targets, with_inherited

# Names in the tz database whose meaning depends on the machine.
_MACHINE_ZONES = frozenset({"localtime", "Factory"})
_INHERITED_KEYS = frozenset({"conversions", "time_zone", "version_column", "overlap_minutes", "mixed_numbers", "current"})
_TABLE_KEYS = _INHERITED_KEYS | {"types", "retire", "keys", "order_by"}
_NAME_KEYS = frozenset({"version_pattern", "include", "exclude"})
_DEFAULT_KEYS = _NAME_KEYS | _INHERITED_KEYS | {"captures", "datasets", "policies", "sources", "tables"}
_COLUMN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,299}")
_RESERVED_PREFIXES = ("_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER", "_CHANGE_")
_OWN_TABLES = ("customer_base", "customer_merges", "customer_current", "customer_unified")
_ZONE = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+){0,2}|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00")


@dataclass(frozen=True)
class TablesFile:
    """The content of onefold.yaml.

    Attributes:
        rules: the rules of all tables.
        tables: the rules of single tables, by `table` or `dataset.table`.
        names: the naming of versioned tables, in all datasets.
        datasets: the naming of versioned tables, in single datasets.
        sources: the servers whose tables are pulled, by name.
        policies: the policies of columns; None where the file has none.
        captures: the settings of captured sources, by name.
    """

    rules: TableRules = field(default_factory=TableRules)
    tables: Mapping[str, TableRules] = field(default_factory=dict)
    names: VersionedNames = DEFAULT_NAMES
    datasets: Mapping[str, VersionedNames] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    policies: ColumnPolicies | None = None
    captures: Mapping[str, CaptureSettings] = field(default_factory=dict)


def read_tables_file(path: Path, problems: list[str]) -> TablesFile:
    """Read and check the file, or its checked form; a setting with a problem has its default.

    Args:
        path: the path of the file.
        problems: the list to which problems are added, each with the path and the key.
    """
    return read_content(read_form(path, problems) if is_form(path) else load_yaml(path, problems), str(path), problems)


def read_content(value: Any, where: str, problems: list[str]) -> TablesFile:
    """Check the content of the file; a setting with a problem has its default.

    Args:
        value: the content; None where the file is empty.
        where: the path of the file.
        problems: the list to which problems are added, each with the path and the key.
    """
    content = _or_default(value, {})
    reader = _Reader(where, problems)
    if not reader.is_mapping(content, "the file"):
        return TablesFile()
    defaults = reader.rules(content, TableRules(), "", _DEFAULT_KEYS)
    names = reader.names(content, DEFAULT_NAMES, "")
    tables: dict[str, TableRules] = {}
    # `customer` comes before `shop.customer`, which inherits what it does not set itself.
    for name, body in sorted(reader.entries(content, "tables"), key=lambda entry: "." in entry[0]):
        tables[name] = reader.table(name, body, tables.get(name.rpartition(".")[2], defaults))
    datasets = {name: reader.dataset(name, body, names) for name, body in reader.entries(content, "datasets")}
    sources = read_sources(content.get("sources"), reader.problem)
    policies = read_policies(content["policies"], reader.problem) if "policies" in content else None
    captures = read_captures(content.get("captures"), reader.problem)
    return TablesFile(defaults, tables, names, datasets, sources, policies, captures)


def _or_default(value: Any, default: Any) -> Any:
    # A key without a value is None in YAML. Any other false or empty value was written by somebody, and is checked.
    return default if value is None else value


class _Reader:
    """Checks parsed YAML, turns it into rules and names, and collects problems, each with the path and the key."""

    def __init__(self, path: str, problems: list[str]) -> None:
        self._path = path
        self._problems = problems

    def is_mapping(self, value: object, where: str) -> bool:
        if not isinstance(value, dict):
            self.problem(f"{where} must be a mapping")
        return isinstance(value, dict)

    def is_text(self, value: object, where: str) -> bool:
        # YAML reads a version of digits only as a number, 0123 as 83, and `no`, `on` and `yes` as true or false.
        if not isinstance(value, str):
            self.problem(f"{where}{value!r} is not a text; put it in quotes")
        return isinstance(value, str)

    def entries(self, content: dict[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        """Yield the entries of a mapping whose names are texts."""
        found = _or_default(content.get(key), {})
        if self.is_mapping(found, key):
            yield from ((name, body) for name, body in found.items() if self.is_text(name, f"{key}: "))

    def dataset(self, name: str, body: Any, defaults: VersionedNames) -> VersionedNames:
        for problem in problems_of_name("dataset", name):
            self.problem(f"datasets: {problem}")
        body = _or_default(body, {})
        if not self.is_mapping(body, f"datasets.{name}"):
            return defaults
        for key in sorted(set(body) - _NAME_KEYS):
            self.problem(f"datasets.{name}.{key} {not_a_setting(key, _NAME_KEYS)}")
        return self.names(body, defaults, f"datasets.{name}.")

    def names(self, body: dict[str, Any], defaults: VersionedNames, where: str) -> VersionedNames:
        """Return the naming of versioned tables; a key that the body does not have is taken from `defaults`."""
        pattern = self._version_pattern(body["version_pattern"], where) if "version_pattern" in body else None
        include, exclude = (
            tuple(self._patterns(_or_default(body[key], []), f"{where}{key}")) if key in body else getattr(defaults, key)
            for key in ("include", "exclude")
        )
        naming = LabelledNames if (pattern or defaults.pattern) == LABELS else VersionedNames
        return naming(pattern or defaults.pattern, include, exclude)

    def _version_pattern(self, value: Any, where: str) -> str | None:
        """Return `labels`, or the pattern without anchors; None where it has a problem."""
        if not self.is_text(value, f"{where}version_pattern: "):
            return None
        if value == LABELS:
            return LABELS
        pattern = without_anchors(value)
        problems = pattern_problems(pattern) or list(_own_table_problems(pattern))
        for problem in problems:
            self.problem(f"{where}version_pattern {value!r}: {problem}")
        return None if problems else pattern

    def _patterns(self, value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list):
            self.problem(f"{where} must be a list of regular expressions")
            return
        for text in value:
            if not self.is_text(text, f"{where}: the pattern "):
                continue
            problems = regex_problems(without_anchors(text))
            for problem in problems:
                self.problem(f"{where} {text!r}: {problem}")
            if not problems:
                yield without_anchors(text)

    def table(self, name: str, body: Any, defaults: TableRules) -> TableRules:
        dataset, _, table = name.rpartition(".")
        for problem in [*(problems_of_name("dataset", dataset) if dataset else []), *problems_of_name("table", table)]:
            self.problem(f"tables: {problem}")
        body = _or_default(body, {})
        if not self.is_mapping(body, f"tables.{name}"):
            return defaults
        rules = self.rules(body, defaults, f"tables.{name}.", _TABLE_KEYS)
        for column in rules.order_by if "keys" in body or "order_by" in body else ():
            if fold_case(column) in map(fold_case, rules.keys):
                self.problem(f"tables.{name}.order_by: all rows of a key have the same {column}: name another column")
        return rules

    def rules(self, body: dict[str, Any], defaults: TableRules, where: str, known: frozenset[str]) -> TableRules:
        for key in body:
            if key not in known:
                self.problem(f"{where}{key} {not_a_setting(key, known, _advice(key, where))}")
        own = tuple(read_targets(body.get("types"), f"{where}types", self.problem)) if "types" in known else ()
        targets = with_inherited(own, defaults)
        # Inherited values are not checked here: they were checked under their own key.
        return TableRules(
            conversions=self._conversions(body["conversions"], where) if "conversions" in body else defaults.conversions,
            time_zone=self._time_zone(body["time_zone"], where) if "time_zone" in body else defaults.time_zone,
            version_column=(
                self._version_column(body["version_column"], where) if "version_column" in body else defaults.version_column
            ),
            mixed_numbers=(
                self._mixed_numbers(body["mixed_numbers"], where) if "mixed_numbers" in body else defaults.mixed_numbers
            ),
            types=tuple((target.path, target.type) for target in targets),
            units=tuple((target.path, target.unit) for target in targets if target.unit),
            retired=frozenset(self._retired(_or_default(body["retire"], []), where))
            if "retire" in body and "retire" in known
            else defaults.retired,
            keys=self._columns("keys", body, where, defaults.keys) if "keys" in known else defaults.keys,
            order_by=self._columns("order_by", body, where, defaults.order_by) if "order_by" in known else defaults.order_by,
            overlap_minutes=(
                self._overlap(body["overlap_minutes"], where) if "overlap_minutes" in body else defaults.overlap_minutes
            ),
            current=self._current(body["current"], where) if "current" in body else defaults.current,
        )

    def _conversions(self, value: Any, where: str) -> Any:
        if value not in ("lossless", "classic"):
            self.problem(f"{where}conversions must be lossless or classic, not {value!r}")
        return value

    def _mixed_numbers(self, value: Any, where: str) -> Any:
        if value not in ("STRING", "FLOAT64"):
            self.problem(f"{where}mixed_numbers must be STRING or FLOAT64, not {value!r}")
        return value

    def _time_zone(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not _ZONE.fullmatch(value) or not _zone_exists(value):
            self.problem(
                f"{where}time_zone {value!r} is unknown; write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
            )
        return str(value)

    def _version_column(self, value: Any, where: str) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not _COLUMN_NAME.fullmatch(value):
            self.problem(f"{where}version_column {value!r} is not a column name; use letters, digits and underscores")
        elif value.upper().startswith(_RESERVED_PREFIXES):
            self.problem(f"{where}version_column {value!r} starts with a prefix that BigQuery reserves")
        return str(value)

    def _retired(self, value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list):
            self.problem(f"{where}retire must be a list of versions")
            return
        for version in value:
            if not self.is_text(version, f"{where}retire: the version "):
                continue
            for problem in problems_of_name("version", version):
                self.problem(f"{where}retire: {problem}")
            yield version

    def _columns(self, key: str, body: dict[str, Any], where: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """Return the list of columns under a key; the default where the body does not have the key."""
        if key not in body:
            return default
        value = _or_default(body[key], [])
        if not isinstance(value, list):
            self.problem(f"{where}{key} must be a list of columns")
            return default
        found: dict[str, str] = {}
        for column in value:
            if not self.is_text(column, f"{where}{key}: the column "):
                continue
            if not column or fold_case(column) in found:
                self.problem(f"{where}{key}: {column!r} is not a column name, or is given twice; case makes no difference")
            found[fold_case(column)] = column
        return tuple(found.values())

    def _overlap(self, value: Any, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self.problem(f"{where}overlap_minutes must be a whole number of minutes, 0 or more, not {value!r}")
            return 0
        return value

    def _current(self, value: Any, where: str) -> bool:
        if not isinstance(value, bool):
            self.problem(f"{where}current must be true or false, not {value!r}")
        return value is not False

    def problem(self, problem: str) -> None:
        """Add a problem, with the path of the file."""
        self._problems.append(f"{self._path}: {problem}")


def _own_table_problems(pattern: str) -> Iterator[str]:
    """Yield a problem where a pattern also matches tables that Onefold itself writes."""
    own = [name for name in _OWN_TABLES if VersionedNames(pattern).split(name)]
    if own:
        yield f"it also matches {' and '.join(own)}, which Onefold writes: expected a stricter group `version`"


def _advice(key: object, where: str) -> str:
    return ", unless below tables.NAME" if not where and key in _TABLE_KEYS else ""


def _zone_exists(name: str) -> bool:
    # BigQuery would not report a wrong zone: SAFE functions give NULL for it, as for a value out of range.
    return name == UTC or name[0] in "+-" or name in zoneinfo.available_timezones() - _MACHINE_ZONES
