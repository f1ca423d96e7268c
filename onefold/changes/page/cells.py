"""The picture of a table: for each column and version, what the unified view does with it, and by which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from onefold.changes.page.hidden import NOTHING_HIDDEN, UNDECIDED, HiddenColumns
from onefold.core.names import fold_case
from onefold.core.text import cut
from onefold.schema.casts import losses
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.versions import Version
from onefold.schema.view_items import null_item, shown_item, version_item

CellKind = Literal["same", "cast", "lossy", "absent", "renamed", "default", "hidden", "waiting", "retired", "unknown"]
_MOST_TEXT = 2_000
"""Characters of a type or of SQL: a struct may have thousands of fields, and a table hundreds of such columns."""


@dataclass(frozen=True)
class HeldChange:
    """A change of a column that a contract keeps out of the views.

    Attributes:
        is_waiting: whether it waits for a person's decision, or stays out by the contract.
        id: the change that a person may accept or reject; empty where there is none.
    """

    is_waiting: bool
    id: str = ""


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
        held: changes that a contract holds, by the name of the column as `fold_case` returns it.
    """

    versions: Sequence[Version]
    view: Sequence[Column] | None
    rules: TableRules = field(default_factory=TableRules)
    hidden: HiddenColumns = NOTHING_HIDDEN
    held: Mapping[str, HeldChange] = field(default_factory=dict)

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
        of = _Cells(self, target, is_shown)
        for version in self.versions:
            landed = version.schema.get(target.name)
            key = (landed, version.id in self.rules.retired, of.is_version_column and version.id)
            if key not in seen:
                seen[key] = forms.setdefault(of.form(version, landed), len(forms))
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
        held = self.picture.held.get(fold_case(self.target.name))
        if held and held.is_waiting:
            return CellForm("waiting", type_, f"A new column, which no view shows until somebody accepts {_change(held)}.")
        why = "by the contract of the table" if held else "as it is now"
        return CellForm("hidden", type_, f"The unified view does not show this column, {why}.")

    def _shown(self, landed: Column, type_: str) -> CellForm:
        source, target = landed_type(landed, self.picture.rules), self.target.type
        shown = self._text(self.target)
        sql = "" if self._has_hidden_field else cut(shown_item(landed, self.target, self.picture.rules), _MOST_TEXT)
        if source == target:
            return self._unchanged(landed, type_, sql)
        held = self.picture.held.get(fold_case(self.target.name))
        lost = losses(source, target, self.picture.rules.time_zone)
        if held and held.is_waiting:
            rule = f"{type_} here: the view keeps {shown}, and shows NULL for what does not fit, until somebody"
            return CellForm("waiting", type_, f"{rule} accepts {_change(held)}.", sql)
        if lost:
            return CellForm("lossy", type_, f"{type_} becomes {shown}. {self._losses(lost)}", sql)
        return CellForm("cast", type_, f"{type_} becomes {shown}: every value is kept.", sql)

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


def _change(held: HeldChange) -> str:
    return f"the change {held.id}" if held.id else "the change"
