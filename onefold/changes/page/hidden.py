"""Columns that a policy hides: a page has their names, and nothing else about them.

A page is read by people who may not read the rows. A column that nobody has decided about is hidden, too, and so is one that
no version has any more: the ledger remembers its types.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from onefold.changes.page.named_types import types_in
from onefold.core.errors import InvalidType
from onefold.core.names import fold_case, fold_hidden
from onefold.schema.column_policy import Action, TablePolicies, UnitedPolicies
from onefold.schema.columns import Column
from onefold.schema.treatment import Treatment, landed_types, treat
from onefold.schema.types import STRING, Array, Struct, Type, element_of
from onefold.schema.versions import Version

UNDECIDED = "No policy names this column, so that the clean view masks it until somebody decides."
_GONE = "No version has this column any more, and no policy shows it: only its name is shown here."
_BY_SOURCE = "A policy hides this column by its name at the source: only its name is shown here."
_Landed = Mapping[str, tuple[Type, ...]]
"""The types of each column in the versions, as `landed_types` returns them."""
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class HiddenColumns:
    """The columns and fields of a table of which only the names are shown.

    Attributes:
        columns: the reason for each hidden column, by the name as `fold_hidden` returns it.
        fields: the paths of hidden fields in columns that are shown, in the same form.
        known: all paths of the view and of the versions, in the same form.
        policies: those of the table, which decide about every other path; None where nothing is hidden.
        landed: returns the name under which a column of the source lands.
    """

    columns: dict[str, str] = field(default_factory=dict)
    fields: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    policies: TablePolicies | None = None
    landed: Callable[[str], str] = str

    def reason(self, name: str) -> str | None:
        """Return why a column, or the column of a path, is hidden; None where it is shown."""
        column = fold_hidden(name).partition(".")[0]
        return self.columns.get(column) or (None if self._shows_unknown(column) else _GONE)

    def hides(self, path: str) -> bool:
        """Return whether a column, or a field in it, is hidden."""
        folded = fold_hidden(path)
        return self.reason(path) is not None or folded in self.fields or not self._shows_unknown(folded)

    def hides_name(self, name: str) -> bool:
        """Return whether a column is hidden, given its name at the source: by that name, or by the one as which it lands."""
        lands_as = self.landed(name)
        decision = self.policies.decide(name) if self.policies and lands_as != name else None
        by_source = decision is not None and decision.decided and decision.action is not Action.CLEAR
        return by_source or self.hides(lands_as)

    def hides_types(self, path: str, *texts: str | None) -> bool:
        """Return whether texts about the types of a column or field tell anything hidden.

        Args:
            path: the column, or the field.
            texts: types, also in sentences. A struct among them may have fields that no version has any more.
        """
        if self.hides(path) or self.hides_within(path):
            return True
        try:
            return any(not self._shows(path, type_) for text in texts if text for type_ in types_in(text))
        except InvalidType:  # nobody can tell which fields a text that was cut may have
            return self.policies is not None

    def _shows_unknown(self, path: str) -> bool:
        return path in self.known or self._shows(path, STRING)

    def _shows(self, path: str, type_: Type) -> bool:
        return self.policies is None or _is_clear(treat(Column(path, type_), [type_], self.policies))

    def type_text(self, path: str, type_: Type) -> str:
        """Return the type of a column as text, without the types of hidden fields.

        Examples:
            >>> from onefold.schema.types import parse_type
            >>> hidden = HiddenColumns(fields=frozenset({"address.zip"}))
            >>> hidden.type_text("address", parse_type("ARRAY<STRUCT<zip STRING, city STRING>>"))
            'ARRAY<STRUCT<zip hidden, city STRING>>'
        """
        if fold_hidden(path) in self.fields:
            return "hidden"
        if isinstance(type_, Array):
            return f"ARRAY<{self.type_text(path, type_.element)}>"
        if not isinstance(type_, Struct):
            return str(type_)
        fields = (f"{one.name} {self.type_text(f'{path}.{one.name}', one.type)}" for one in type_.fields)
        return f"STRUCT<{', '.join(fields)}>"

    def hides_within(self, column: str) -> bool:
        """Return whether a column that is shown has a hidden field."""
        prefix = f"{fold_hidden(column)}."
        return any(path.startswith(prefix) for path in self.fields)

    def without_hidden(self, text: str, instead: str) -> str:
        """Return a text, such as a statement, or another one where the text names something hidden.

        Args:
            text: the text.
            instead: what is shown in its place.

        Examples:
            >>> HiddenColumns({"ssn": "a policy"}).without_hidden("ALTER TABLE t MODIFY Ssn CHAR(9)", "hidden")
            'hidden'
        """
        last = {path.rpartition(".")[2] for path in self.fields}
        names = {*self.columns, *last}
        folded = fold_hidden(text)
        words = set(_WORDS.findall(folded))
        return instead if any(name in words or (not name.isidentifier() and name in folded) for name in names) else text


NOTHING_HIDDEN = HiddenColumns()


def hidden_columns(
    columns: Sequence[Column],
    versions: Sequence[Version],
    policies: TablePolicies | None,
    landed: Callable[[str], str] = str,
) -> HiddenColumns:
    """Return what the policies of a table hide: whatever the clean view does not show as it is.

    Args:
        columns: those of the view, or of all versions.
        versions: all versions, retired ones too.
        policies: those of the table; None where nothing of it is hidden.
        landed: returns the name under which a column of the source lands: a policy may name either.
    """
    if policies is None:
        return NOTHING_HIDDEN
    every = _with_others(columns, versions)
    types = landed_types(version.columns for version in versions)
    treated = [treat(column, types.get(fold_case(column.name), (column.type,)), policies) for column in every]
    hidden = {fold_hidden(column.name): _BY_SOURCE for column in every if _is_named(column, policies, landed)}
    hidden |= {fold_hidden(one.path): _reason(one) for one in treated if one.action not in (None, Action.CLEAR)}
    shown = [column for column in every if fold_hidden(column.name) not in hidden]
    fields = {path for column in shown for path in _hidden_fields(column, types, policies)}
    known = {path for column in every for type_ in _types(column, types) for path in _paths(column.name, type_)}
    return HiddenColumns(hidden, frozenset(fields), frozenset(known), policies, landed)


def _is_named(column: Column, policies: TablePolicies, landed: Callable[[str], str]) -> bool:
    """Return whether a policy that hides names the column by another name at the source, without a wildcard."""
    of_tables = (one.rules for one, _ in policies.tables) if isinstance(policies, UnitedPolicies) else ()
    names = (rule.column for rules in (policies.rules, *of_tables) for rule in rules if rule.action is not Action.CLEAR)
    name = fold_hidden(column.name)
    return any(fold_hidden(landed(one)) == name != fold_hidden(one) for one in names if "*" not in one)


def _is_clear(treatment: Treatment) -> bool:
    return treatment.action is Action.CLEAR or (treatment.action is None and all(map(_is_clear, treatment.fields)))


def _with_others(columns: Iterable[Column], versions: Iterable[Version]) -> list[Column]:
    """Return some columns, and those of versions that are not among them, each once."""
    found = {fold_case(column.name): column for column in columns}
    for version in versions:
        for column in version.columns:
            found.setdefault(fold_case(column.name), column)
    return list(found.values())


def _reason(treatment: Treatment) -> str:
    if treatment.all_waiting:
        return UNDECIDED
    done = {Action.DROP: "drops", Action.MASK: "masks", Action.HASH: "hashes"}[treatment.action or Action.MASK]
    return f"A policy {done} this column in the clean view: only its name is shown here."


def _hidden_fields(column: Column, types: _Landed, policies: TablePolicies) -> Iterable[str]:
    """Yield the paths of the fields of a column that the policies do not show, in any version."""
    for type_ in _types(column, types):
        yield from _fields(column.name, type_, policies)


def _types(column: Column, types: _Landed) -> Iterable[Type]:
    """Return the types of a column in the view and in all versions, each once."""
    return dict.fromkeys([column.type, *types.get(fold_case(column.name), ())])


def _paths(path: str, type_: Type) -> Iterator[str]:
    """Yield a column and the fields in it at any depth, as `fold_hidden` returns them."""
    yield fold_hidden(path)
    element = element_of(type_)
    for one in element.fields if isinstance(element, Struct) else ():
        yield from _paths(f"{path}.{one.name}", one.type)


def _fields(path: str, type_: Type, policies: TablePolicies) -> Iterable[str]:
    if isinstance(type_, Array):
        yield from _fields(path, type_.element, policies)
    elif isinstance(type_, Struct):
        for one in type_.fields:
            yield from _fields(f"{path}.{one.name}", one.type, policies)
    elif "." in path and policies.decide(path).action is not Action.CLEAR:
        yield fold_hidden(path)
