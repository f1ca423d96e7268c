"""What a view shows of its table under a contract. A pure function of the view as it is, the versions, and the decisions.

What the view shows is what was accepted. So a new column is one that the view does not have, and a changed type is one that
the type in the view does not hold. No memory of versions is needed, and a message that comes twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from onefold.core.errors import SchemaConflict
from onefold.core.names import at_and_above, fold_case
from onefold.schema.columns import Column, Schema
from onefold.schema.common_type import canonical
from onefold.schema.contract_rules import Types, Verdict
from onefold.schema.former import missing
from onefold.schema.held import Held
from onefold.schema.table_rules import TableRules
from onefold.schema.target_types import landed_type
from onefold.schema.types import Array, Field, Struct, Type, element_of
from onefold.schema.versions import Version, join_types
from onefold.schema.waiting import Waiting

ChangeOf = Callable[[str, str], str]
"""Returns the identifier of the change that brought a column or field, given the version and the path."""
_Landed = Sequence[tuple[str, Type]]
"""Versions that have a column or field, each with its type there, in the order of the versions."""


def held(
    former: Sequence[Column] | None,
    full: Sequence[Column],
    versions: Sequence[Version],
    rules: TableRules,
    change_of: ChangeOf,
    protected: Collection[str] = (),
    keeps_wider: bool = True,
    column_of: ChangeOf | None = None,
    new_columns: str = "",
) -> Held:
    """Return what a view shows under the contract of its table.

    Args:
        former: the columns of the view as it is; None where there is none, so that nobody reads it and all is shown.
        full: the columns that the view would have without a contract.
        versions: the versions that it reads, in their order.
        rules: those of the table, its contract and its decisions among them. A target type that they name is a decision.
        change_of: returns the identifier of the change that brought a column or field, given the version and the path.
        protected: columns that are always shown as they are: of the key, the order, the tenant, and metadata. Another value
            of them would be another row.
        keeps_wider: whether a type is kept, too, that holds all values of the versions that are left; not where settings
            have made the type narrower.
        column_of: returns the identifier of a type of a column or field, whichever version brought it: one that was
            rejected stays so when that version is gone. None where changes have no versions.
        new_columns: the identifier of all new columns and fields of the table; likewise.

    Examples:
        >>> from dataclasses import replace
        >>> from onefold.schema.contract_rules import Contract
        >>> from onefold.schema.types import parse_type
        >>> rules = TableRules(contract=Contract(new_columns="review", types="keep"))
        >>> old = (Column("id", parse_type("INT64")), Column("n", parse_type("INT64")))
        >>> new = tuple(Column(name, parse_type("STRING")) for name in ("id", "n", "zip"))
        >>> found = held(old, new, [Version("a", old), Version("b", new)], rules, lambda version, path: "c1", ["id"])
        >>> [f"{column.name} {column.type}" for column in found.columns], [str(one) for one in found.waiting]
        (['id STRING', 'n INT64'], ['new column zip STRING of version b'])
    """
    if former is None or not rules.contract.holds:
        return Held(tuple(full), tuple(full))
    review, before, columns = _Review(rules, change_of, column_of, new_columns, keeps_wider), Schema(former), []
    free = {fold_case(name) for name in protected}
    for column in full:
        landed = [
            (version.id, landed_type(found, rules)) for version in versions if (found := version.schema.get(column.name))
        ]
        old = before.get(column.name)
        type_: Type | None = column.type
        if fold_case(column.name) not in free:
            type_ = review.shown(column.name, old.type if old else None, column.type, landed)
        if type_ is not None:
            columns.append(Column(column.name, type_))
    return Held(tuple(columns), tuple(full), tuple(review.waiting))


class _Review:
    """Decides column by column, and notes what waits."""

    def __init__(
        self, rules: TableRules, change_of: ChangeOf, column_of: ChangeOf | None, new_columns: str, keeps_wider: bool
    ) -> None:
        self._rules, self._contract = rules, rules.contract
        self._change_of, self._column_of = change_of, column_of
        self._new_columns, self._keeps_wider = new_columns, keeps_wider
        self._targets = {path for path, _ in rules.types}
        self.waiting: list[Waiting] = []

    def shown(self, path: str, former: Type | None, full: Type, landed: _Landed) -> Type | None:
        """Return the type in which a column or field is shown; None where it is not shown.

        Args:
            path: its path.
            former: its type in the view as it is; None where it is new.
            full: its type without a contract.
            landed: its types in the versions.
        """
        if self._is_target(path) or not landed or former == full:
            return full
        if former is None:
            if self._contract.new_columns == "show":
                return full
            if not self._takes_new(path, full, landed):
                return None
            # What was accepted: later types are changes of their own.
            former = self._without_rejected(path, *landed[0])
            if former is None:
                return None
        return self._beyond(path, former, full, landed)

    def _beyond(self, path: str, former: Type, full: Type, landed: _Landed) -> Type:
        """Return the type in which a column or field is shown that the view has in another type.

        Which fields a struct has, and whether it is a struct, a list of structs or a text, are decided one by one.
        """
        of = element_of(former)
        if not isinstance(of, Struct):
            type_ = self._type(path, former, full, landed, self._contract.types)
            return self._without_rejected(path, landed[0][0], type_) or former  # of a text that is a struct again
        first = len(self.waiting)
        fields = self._fields(path, of, full, landed)
        rule = self._rule_of_struct(fields, full, landed)
        alike = [(id_, _with(fields, type_)) for id_, type_ in landed]
        type_ = self._type(path, _with(fields, former), _with(fields, full), alike, rule)
        if not isinstance(element_of(type_), Struct):  # a text that was accepted has all fields
            self.waiting[first:] = []
        return type_

    def _fields(self, path: str, former: Struct, full: Type, landed: _Landed) -> Struct:
        """Return the fields that are shown of a struct, of all versions that have it, alone or in a list.

        The former ones where none would be left.
        """
        structs = [(id_, of) for id_, type_ in landed if isinstance(of := element_of(type_), Struct)]
        whole, fields = self._whole(full, [of for _, of in structs]), []
        for field in whole.fields if whole else ():
            old = former.get(field.name)
            below = [(id_, found.type) for id_, of in structs if (found := of.get(field.name))]
            if type_ := self.shown(f"{path}.{field.name}", old.type if old else None, field.type, below):
                fields.append(Field(field.name, type_))
        return Struct(tuple(fields)) if fields else former

    def _whole(self, full: Type, structs: Sequence[Struct]) -> Struct | None:
        """Return a struct with all fields; None where there is none."""
        of = element_of(full)
        whole = of if isinstance(of, Struct) or not structs else self._joined(*structs)
        return whole if isinstance(whole, Struct) else None

    def _without_rejected(self, path: str, version: str, type_: Type) -> Type | None:
        """Return a type that was accepted without the fields that were rejected; None where nothing is left of it."""
        if isinstance(type_, Array):
            element = self._without_rejected(path, version, type_.element)
            return Array(element) if element else None  # type: ignore[arg-type]  # an element is no array
        if not isinstance(type_, Struct):
            return type_
        names = ((field, f"{path}.{field.name}") for field in type_.fields)
        left = [(field.name, name, field.type) for field, name in names if self._verdict_of_new(name, version) != "reject"]
        pairs = ((name, self._without_rejected(below, version, one)) for name, below, one in left)
        fields = tuple(Field(name, one) for name, one in pairs if one)
        return Struct(fields) if fields else None

    def _takes_new(self, path: str, full: Type, landed: _Landed) -> bool:
        version, type_ = landed[0]
        verdict = self._verdict_of_new(path, version)
        if verdict == "accept" and self._contract.verdicts.is_of_struct(self._change_of(version, path), path):
            verdict = None
        if not verdict and self._contract.new_columns == "review":
            first = len(self.waiting)
            shown = self._beyond(path, type_, full, landed)
            self.waiting[first:] = []  # later changes wait once this one is accepted
            self._wait(path, None, version, shown)
        return verdict == "accept"

    def _type(self, path: str, former: Type, full: Type, landed: _Landed, rule: Types) -> Type:
        """Return the former type, widened by what was accepted; the full one where no version has brought the change."""
        if rule == "widen" or canonical(former) == canonical(full):
            return full
        wider = [(id_, type_) for id_, type_ in landed if not self._is_held_by(type_, former)]
        if not wider:
            return self._narrower(path, former, full, landed)
        accepted = [type_ for id_, type_ in wider if self._verdict(path, id_) == "accept"]
        left = [(id_, type_) for id_, type_ in wider if self._verdict(path, id_) != "accept"]
        if not left:
            return full
        kept = join_types([former, *accepted], self._rules)
        if canonical(kept) == canonical(full):
            return full
        changes = {self._change_of(id_, path) for id_, _ in left}
        rejected = {canonical(type_) for id_, type_ in left if self._verdict(path, id_)}
        for id_, type_ in left if rule == "review" else ():
            if canonical(type_) not in rejected and not self._is_held_by(type_, kept):
                self._wait(path, former, id_, full if len(changes) == 1 else self._joined(kept, type_) or type_)
        return kept

    def _rule_of_struct(self, fields: Struct, full: Type, landed: _Landed) -> Types:
        """Return what the contract says of a struct's type: a text of it is held where fields of it are not shown."""
        if self._contract.types != "widen" or isinstance(element_of(full), Struct):
            return self._contract.types
        hidden = (path for _, type_ in landed for path in missing(Column("", type_), Column("", fields)))
        if self._contract.new_columns == "show" or not any(hidden):
            return "widen"
        return "review" if self._contract.new_columns == "review" else "keep"

    def _narrower(self, path: str, former: Type, full: Type, landed: _Landed) -> Type:
        """Return the former type where the versions that had it are gone, unless all that the others brought is accepted."""
        left = [id_ for id_, _ in landed if self._verdict(path, id_) != "accept"]
        if not left or not self._keeps_wider:
            return full
        for id_ in left if self._contract.types == "review" else ():
            if not self._verdict(path, id_):
                self._wait(path, former, id_, full)
        return former

    def _is_held_by(self, type_: Type, other: Type) -> bool:
        """Return whether values of a type leave another type as it is."""
        joined = self._joined(other, type_)
        return joined is not None and canonical(joined) == canonical(other)

    def _joined(self, *types: Type) -> Type | None:
        """Return the least common type; None where there is none."""
        try:
            return join_types(types, self._rules)
        except SchemaConflict:
            return None

    def _is_target(self, path: str) -> bool:
        """Return whether the settings name a type for a column or field, or for a struct that holds it."""
        return any(one in self._targets for one in at_and_above(path))

    def _verdict_of_new(self, path: str, version: str) -> Verdict | None:
        in_place = self._column_of is not None
        return self._contract.verdicts.of_new(self._change_of(version, path), self._new_columns, path, in_place=in_place)

    def _verdict(self, path: str, version: str) -> Verdict | None:
        """Return what was decided about a type: in the change, or whether it was rejected when another version had it."""
        verdicts = self._contract.verdicts
        if found := verdicts.about(self._change_of(version, path), path):
            return found
        return "reject" if verdicts.about(self._column(version, path), path) == "reject" else None

    def _wait(self, path: str, old: Type | None, version: str, new: Type) -> None:
        change = self._change_of(version, path)
        if any((one.change, one.path) == (change, path) for one in self.waiting):
            return  # several versions may have brought one change
        by_version = self._contract.verdicts.names.get(change, "")
        by_column = self._new_columns if old is None else self._column(version, path)
        former = None if old is None else str(old)
        self.waiting.append(Waiting(change, version, path, former, str(new), by_version, by_column))

    def _column(self, version: str, path: str) -> str:
        return self._column_of(version, path) if self._column_of else ""


def _with(fields: Struct, type_: Type) -> Type:
    """Return a struct, or a list of structs, with other fields; another type as it is."""
    if not isinstance(element_of(type_), Struct):
        return type_
    return Array(fields) if isinstance(type_, Array) else fields
