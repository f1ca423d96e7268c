"""The picture of a table: for each column and version, what the unified view does with it, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from onefold.changes.page.held import HeldChange, by_column, held_in, of_version, without_fields
from onefold.changes.page.hidden import NOTHING_HIDDEN, UNDECIDED, HiddenColumns
from onefold.core.names import fold_case
from onefold.core.text import cut, shown_list
from onefold.schema.casts import losses
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type, type_at
from onefold.schema.versions import Version
from onefold.schema.view_items import null_item, shown_item, version_item

CellKind = Literal["same", "cast", "lossy", "absent", "renamed", "default", "hidden", "waiting", "retired", "unknown"]
_MOST_TEXT = 2_000
"""Characters of a type or of SQL: a struct may have thousands of fields, and a table hundreds of such columns."""


@dataclass(frozen=True)
class CellForm:
    """What the view does with a column in some versions: all of its cells that are alike.

    Attributes:
        kind: the kind, which gives the colour and the letter.
        type: the type in these versions; empty where they lack the column, or where it is hidden.
        rule: a sentence that says what happens, and by which rule.
        sql: the item of the view's SELECT; empty where there is none, or where it is hidden.
    """

    kind: CellKind
    type: str
    rule: str
    sql: str = ""


@dataclass(frozen=True)
class PageColumn:
    """A column over all versions.

    Attributes:
        name: its name in the view.
        type: its type in the view; empty where the view does not show it, or where it is hidden.
        forms: what the view does with it, each form once.
        cells: for each version, in their order, the index of its form.
    """

    name: str
    type: str
    forms: tuple[CellForm, ...]
    cells: tuple[int, ...]

    def kind(self, version: int) -> CellKind:
        """Return the kind of the cell of a version, by its place."""
        return self.forms[self.cells[version]].kind


@dataclass(frozen=True)
class Picture:
    """What decides the cells of a table.

    Attributes:
        versions: all versions in the order of time, retired ones too.
        view: the columns of the unified view; None where it cannot be built.
        rules: the rules of the table.
        hidden: what policies hide.
        held: changes of columns and fields that a contract holds.
    """

    versions: Sequence[Version]
    view: Sequence[Column] | None
    rules: TableRules = field(default_factory=TableRules)
    hidden: HiddenColumns = NOTHING_HIDDEN
    held: Sequence[HeldChange] = ()

    @cached_property
    def held_by_column(self) -> Mapping[str, tuple[HeldChange, ...]]:
        """The changes that a contract holds, by the name of their column as `fold_case` returns it."""
        return by_column(self.held)

    def columns(self) -> tuple[PageColumn, ...]:
        """Return the columns in the order of the view, then those that it does not show, as they first came."""
        return tuple(self._column(target) for target in self._targets())

    def _targets(self) -> Iterator[Column]:
        shown = Schema(self.view or ())
        yield from shown
        known = {fold_case(column.name) for column in shown}
        for version in self.versions:
            for column in version.columns:
                if fold_case(column.name) not in known:
                    known.add(fold_case(column.name))
                    yield column

    def _column(self, target: Column) -> PageColumn:
        forms: dict[CellForm, int] = {}
        seen: dict[object, int] = {}
        cells = []
        is_shown = Schema(self.view or ()).has(target.name)
        of = _Cells(self, target, is_shown, self.held_by_column.get(fold_case(target.name), ()))
        for version in self.versions:
            landed = version.schema.get(target.name)
            held = of_version(of.held, version.id)
            key = (landed, version.id in self.rules.retired, of.is_version_column and version.id, held)
            if key not in seen:
                seen[key] = forms.setdefault(replace(of, held=held).form(version, landed), len(forms))
            cells.append(seen[key])
        is_hidden = self.hidden.reason(target.name) is not None
        type_ = "" if is_hidden or not is_shown else cut(self.hidden.type_text(target.name, target.type), _MOST_TEXT)
        return PageColumn(target.name, type_, tuple(forms), tuple(cells))


@dataclass(frozen=True)
class _Cells:
    """The rules of one column, from the strictest to the plainest."""

    picture: Picture
    target: Column
    is_shown: bool
    held: tuple[HeldChange, ...]

    @property
    def is_version_column(self) -> bool:
        name = self.picture.rules.version_column
        return name is not None and fold_case(name) == fold_case(self.target.name)

    def form(self, version: Version, landed: Column | None) -> CellForm:
        if reason := self.picture.hidden.reason(self.target.name):
            undecided = reason == UNDECIDED
            return CellForm("waiting" if undecided else "hidden", "", reason)
        type_ = self._text(landed) if landed else ""
        if version.id in self.picture.rules.retired:
            return self._retired(type_)
        if landed is None:
            return self._absent(version)
        if self.picture.view is None:
            return CellForm("unknown", type_, "The unified view cannot be built: the problems of the table say why.")
        if not self.is_shown:
            return self._not_shown(type_)
        return self._shown(landed, type_)

    def _retired(self, type_: str) -> CellForm:
        if not type_:
            return CellForm("absent", "", "This version has no such column, and is retired: no view reads its rows.")
        return CellForm("retired", type_, "The version is retired: no view reads its rows.")

    def _absent(self, version: Version) -> CellForm:
        if self.is_version_column and self.is_shown:
            rule = f"No table has this column: for these rows the view writes {version.id}."
            return CellForm("default", "", rule, version_item(version.id, self.target.name))
        rule = "This version has no such column: its rows show NULL."
        sql = null_item(self.target) if self.is_shown and not self._has_hidden_field else ""
        return CellForm("absent", "", rule if self.is_shown else "This version has no such column.", cut(sql, _MOST_TEXT))

    def _not_shown(self, type_: str) -> CellForm:
        held = next((one for one in self.held if fold_case(one.path) == fold_case(self.target.name)), None)
        if held and held.is_waiting:
            return CellForm("waiting", type_, f"A new column, which no view shows until somebody accepts {held.change}.")
        why = "by the contract of the table" if held else "as it is now"
        return CellForm("hidden", type_, f"The unified view does not show this column, {why}.")

    def _shown(self, landed: Column, type_: str) -> CellForm:
        source, target = landed_type(landed, self.picture.rules), self.target.type
        sql = "" if self._has_hidden_field else cut(shown_item(landed, self.target, self.picture.rules), _MOST_TEXT)
        if source == target:
            return self._unchanged(landed, type_, sql)
        read, zone = Column(self.target.name, source), self.picture.rules.time_zone
        held = held_in(self.held, read, self.target, zone)
        if waiting := [one for one in held if one.is_waiting]:
            rule = " ".join(self._waiting(one, type_) for one in waiting)
            return CellForm("waiting", type_, cut(rule, _MOST_TEXT), sql)
        left_out = [one.path for one in held]
        becomes = f"{type_} becomes {self._text(self.target)}"
        if losses(without_fields(read, list(map(fold_case, left_out))), target, zone):
            return CellForm("lossy", type_, f"{becomes}. {self._losses(losses(source, target, zone))}", sql)
        if left_out:
            rule = f"The unified view does not show {shown_list(left_out)}, by the contract of the table."
            return CellForm("hidden", type_, rule, sql)
        return CellForm("cast", type_, f"{becomes}: every value is kept.", sql)

    def _waiting(self, held: HeldChange, type_: str) -> str:
        if type_at(self.target, held.path) is None:
            return f"{held.path} is a new field, which no view shows until somebody accepts {held.change}."
        of_column = fold_case(held.path) == fold_case(self.target.name)
        kept = f"{type_} here: the view keeps {self._text(self.target)}" if of_column else (
            f"{held.path} has another type here: the view keeps its own"
        )  # fmt: skip
        return f"{kept}, and shows NULL for what does not fit, until somebody accepts {held.change}."

    def _unchanged(self, landed: Column, type_: str, sql: str) -> CellForm:
        if landed.name != self.target.name:
            rule = f"Spelled {landed.name} here, and {self.target.name} in the view: names are compared without case."
            return CellForm("renamed", type_, rule, sql)
        return CellForm("same", type_, f"{type_} here and in the view: shown as it is.", sql)

    def _losses(self, lost: Sequence[str]) -> str:
        if self._has_hidden_field:
            return "Values may be lost; a policy hides a field, so that no more is shown."
        return " ".join(f"{one[0].upper()}{one[1:]}." for one in lost)

    @property
    def _has_hidden_field(self) -> bool:
        return self.picture.hidden.hides_within(self.target.name)

    def _text(self, column: Column) -> str:
        read = landed_type(column, self.picture.rules)
        return cut(self.picture.hidden.type_text(self.target.name, read), _MOST_TEXT)
