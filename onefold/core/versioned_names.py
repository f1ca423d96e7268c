"""The names of versioned tables: which table is a version of which base name, by one pattern per dataset."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from onefold.core.names import problems_of_name
from onefold.core.version_pattern import (
    DEFAULT_PATTERN,
    PatternGroup,
    compiled,
    compiled_loosely,
    five_parts,
    parse_pattern,
    pattern_rule,
)

if TYPE_CHECKING:
    from onefold.core.united_names import UnitedTable


@dataclass(frozen=True)
class SkippedTable:
    """A table that looks like a version and is not used, and the reason."""

    table: str
    base: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        return {"table": self.table, "reason": self.reason}


@dataclass(frozen=True)
class VersionedNames:
    """The naming of the versioned tables of one dataset.

    Attributes:
        pattern: the regular expression, without anchors; it has to match the whole name.
        include: regular expressions; where there are any, a base name has to match one of them.
        exclude: regular expressions; a table is skipped whose base name or own name matches one of them.
        declared: tables that settings declare under their own names, which are no versions whatever they are named.
    """

    pattern: str = DEFAULT_PATTERN
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    declared: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    @property
    def by_labels(self) -> bool:
        """Whether versions are found by the labels of tables, and not by their names: see `version_labels`."""
        return False

    @property
    def are_noted(self) -> bool:
        """Whether a view has to note the versions that it reads, because the names of its tables do not tell them."""
        return self.by_labels

    @property
    def united(self) -> Mapping[str, UnitedTable]:
        """The tables of the dataset that are united of those of other datasets, by name: see `united_names`."""
        return {}

    @property
    def described(self) -> str:
        """How the versioned tables of the dataset are found, for errors."""
        return f"named as {pattern_rule(self.pattern)}"

    def described_versions(self, base: str) -> str:
        """Return how the versions of one base name are found, for errors.

        Examples:
            >>> VersionedNames("(?P<base>.+)-x(?P<version>[0-9]+)").described_versions("order")
            'named as order-xVERSION, where version_pattern of onefold.yaml says what VERSION may be'
        """
        return f"named as {pattern_rule(self.pattern, base)}"

    def resolved(self, labels: Mapping[str, Mapping[str, str]]) -> VersionedNames:  # noqa: ARG002 names are enough here
        """Return a naming that knows the tables of a listed dataset.

        Args:
            labels: the labels of all tables of the dataset, by the name of the table.
        """
        return self

    def split(self, table: str) -> tuple[str, str] | None:
        """Return the base name and the version of a versioned table; None for a table that is not one, or is skipped.

        Examples:
            >>> VersionedNames().split("customer_v_5b6ffe5fb")
            ('customer', '5b6ffe5fb')
            >>> VersionedNames().split("customer_v_backup") is None
            True
        """
        found = self._match(table)
        return found if found and self.exclusion_reason(found[0], table) is None else None

    def name(self, base: str, version: str) -> str:
        """Return the name of the table that holds a version.

        Examples:
            >>> VersionedNames("(?P<base>.+)_(?P<version>[0-9]+)").name("com_acme_ad_click", "1")
            'com_acme_ad_click_1'
        """
        parts = {"base": base, "version": version}
        return "".join(parts[part.name] if isinstance(part, PatternGroup) else part for part in parse_pattern(self.pattern))

    def version_of(self, base: str, table: str) -> str | None:
        """Return the version of a table, where the table is a version of this base name; None for any other table.

        Examples:
            >>> VersionedNames().version_of("customer", "customer_v_abc")
            'abc'
            >>> VersionedNames().version_of("customer", "customer_vip_v_abc") is None
            True
        """
        found = self.split(table)
        return found[1] if found and found[0] == base else None

    def base_name_hint(self, table: str) -> str | None:
        """Return the advice for a name that is one version's, where a base name is expected; None for any other name.

        Examples:
            >>> VersionedNames().base_name_hint("customer_v_abc")
            'customer_v_abc is the version abc of the table customer: give the base name, customer'
            >>> VersionedNames().base_name_hint("customer") is None
            True
        """
        found = self._match(table)
        return (
            f"{table} is the version {found[1]} of the table {found[0]}: give the base name, {found[0]}" if found else None
        )

    def problems(self, base: str, version: str) -> list[str]:
        """Return why a base name and a version of a message do not name a table of this pattern."""
        table = self.name(base, version)
        if self._match(table) == (base, version):
            return []
        rule = pattern_rule(self.pattern)
        return [f"{table[:100]} is no version {version[:60]} of {base[:60]}: expected a table named as {rule}"]

    def versions_pattern(self, base: str) -> str:
        """Return an anchored pattern (RE2; in Python with fullmatch) that matches all versions of one base name.

        The pattern may match tables of other base names as well: `split` decides.

        Examples:
            >>> VersionedNames().versions_pattern("customer")
            '^customer_v_(?:[0-9a-f]{1,64})$'
        """
        return f"^{self.search_pattern(base)}$"

    def search_pattern(self, base: str) -> str:
        """Return the pattern of `versions_pattern` without its anchors."""
        return "".join(
            part if isinstance(part, str) else re.escape(base) if part.name == "base" else f"(?:{part.text})"
            for part in parse_pattern(self.pattern)
        )

    def exclusion_reason(self, base: str, table: str | None = None) -> str | None:
        """Return why `include` and `exclude` leave out a base name, or one table of it; None where they do not.

        Examples:
            >>> VersionedNames(exclude=("tmp_.*",)).exclusion_reason("tmp_customer")
            '`exclude` has tmp_.*'
        """
        for pattern in self.exclude:
            if any(name and re.fullmatch(pattern, name, re.ASCII) for name in (base, table)):
                return f"`exclude` has {pattern}"
        if self.include and not any(re.fullmatch(pattern, base, re.ASCII) for pattern in self.include):
            return f"no pattern of `include` matches {base}"
        return None

    def skipped(self, tables: Iterable[str]) -> tuple[SkippedTable, ...]:
        """Return the tables of a dataset that look like versions, but are not used.

        Examples:
            >>> VersionedNames().skipped(["customer_v_abc", "customer_v_backup"])[0].table
            'customer_v_backup'
        """
        tables = tuple(tables)
        known = {found[0] for table in tables if (found := self._match(table))}
        return tuple(skipped for table in tables if (skipped := self._skipped(table, known)))

    def _skipped(self, table: str, known: set[str]) -> SkippedTable | None:
        if table in self.declared:
            return None
        if found := self._match(table):
            reason = self.exclusion_reason(found[0], table)
            return SkippedTable(table, found[0], reason) if reason else None
        base, version = self._known_base(table, known) or self._loose_base(table) or ("", "")
        if not base:
            return None
        rule = pattern_rule(self.pattern)
        return SkippedTable(table, base, f"{version} is no version by version_pattern: expected a table named as {rule}")

    def _known_base(self, table: str, known: set[str]) -> tuple[str, str] | None:
        """Return the longest base name that has versions and that begins a table's name, and the rest of the name."""
        before, first, between, _, after = five_parts(self.pattern)
        inner = table.removeprefix(before).removesuffix(after)
        if not between or before + inner + after != table:
            return None
        # A look-ahead finds overlapping separators too: `a___b` has `__` at two positions.
        splits = (
            (inner[: found.start()], inner[found.end() :]) for found in re.finditer(f"(?={re.escape(between)})", inner)
        )
        pairs = ((left, right[len(between) :]) for left, right in splits)
        named = [pair if first == "base" else pair[::-1] for pair in pairs]
        return max((pair for pair in named if pair[0] in known and pair[1]), key=lambda pair: len(pair[0]), default=None)

    def _loose_base(self, table: str) -> tuple[str, str] | None:
        """Return the base name and the version that a table would have if the pattern allowed any version.

        Only where letters or digits separate the two: with `_` alone, half of all names would look like versions.
        """
        has_letters = any(re.search(r"[^\W_]", part) for part in parse_pattern(self.pattern) if isinstance(part, str))
        loose = compiled_loosely(self.pattern).fullmatch(table) if has_letters else None
        return (loose["base"], loose["version"]) if loose else None

    def _match(self, table: str) -> tuple[str, str] | None:
        match = None if table in self.declared else compiled(self.pattern).fullmatch(table)
        if not match or problems_of_name("table", match["base"]) or problems_of_name("version", match["version"]):
            return None
        return match["base"], match["version"]


DEFAULT_NAMES = VersionedNames()
NamesIn = Callable[[str], VersionedNames]
"""A function from a dataset to the naming of its versioned tables."""


def default_names(_dataset: str) -> VersionedNames:
    """Return the naming of a dataset that has no settings."""
    return DEFAULT_NAMES
