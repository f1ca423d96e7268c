"""What a clean view shows of each column and field: the policies of a table, applied to the types of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from onefold.core.names import fold_case
from onefold.schema.column_policy import Action, Decision, TablePolicies, strictest
from onefold.schema.columns import Column
from onefold.schema.types import JSON, STRING, Array, Field, Struct, Type, element_of


@dataclass(frozen=True)
class Treatment:
    """What a clean view shows of a column or of a field.

    Attributes:
        path: the column, or the field as `address.zip`.
        type: the type in the view that is read.
        action: the action on the whole value; None for a struct, or an array of structs, that is shown field by field.
        fields: the treatments of the fields, in their order, where `action` is None.
        waiting: the paths that no policy names, and that decide about this value.
    """

    path: str
    type: Type
    action: Action | None
    fields: tuple[Treatment, ...] = ()
    waiting: tuple[str, ...] = ()

    @property
    def shown_type(self) -> Type | None:
        """The type in the clean view; None where the value is left out."""
        if self.action is Action.DROP:
            return None
        if self.action is Action.HASH:
            return Array(STRING) if isinstance(self.type, Array) else STRING
        if isinstance(self.type, Array) and isinstance(self.type.element, Struct):
            shown = self._shown_struct(self.type.element)
            return Array(shown) if shown else None
        return self._shown_struct(self.type) if isinstance(self.type, Struct) else self.type

    def _shown_struct(self, struct: Struct) -> Struct | None:
        shown = zip(struct.fields, self.fields, strict=True)
        fields = tuple(Field(field.name, type_) for field, one in shown if (type_ := one.shown_type))
        return Struct(fields) if fields else None

    @property
    def all_waiting(self) -> tuple[str, ...]:
        """The paths that wait for a decision, those of the fields included, each once."""
        return tuple(dict.fromkeys([*self.waiting, *(path for one in self.fields for path in one.all_waiting)]))


def treat(column: Column, landed: Sequence[Type], policies: TablePolicies) -> Treatment:
    """Return what a clean view shows of a column.

    Where a struct of one version is a whole value in the view, because it is JSON or text in another version, the value has
    the strictest action of anything that it can hold.

    Args:
        column: the column in the view that is read.
        landed: the types in which the column landed in the versions.
        policies: those of the table.

    Examples:
        >>> from onefold.schema.column_policy import PolicyRule
        >>> from onefold.schema.types import parse_type
        >>> policies = TablePolicies(tuple(PolicyRule("*", path, Action.CLEAR) for path in ("address", "address.zip")))
        >>> struct = parse_type("STRUCT<zip STRING, street STRING>")
        >>> [str(one.action) for one in treat(Column("address", struct), [struct], policies).fields]
        ['clear', 'mask']
        >>> str(treat(Column("address", JSON), [struct, JSON], policies).action)
        'mask'
    """
    return _treat(column.name, column.type, [element_of(type_) for type_ in landed], policies)


def _treat(path: str, type_: Type, landed: Sequence[Type], policies: TablePolicies) -> Treatment:
    element = element_of(type_)
    if not isinstance(element, Struct):
        return _whole(path, type_, landed, policies)
    fields = tuple(
        _treat(f"{path}.{field.name}", field.type, list(_field_types(landed, field.name)), policies)
        for field in element.fields
    )
    return Treatment(path, type_, _struct_action({one.action for one in fields}), fields)


def _struct_action(actions: set[Action | None]) -> Action | None:
    """Return the action on a struct whose fields get these actions; None where a field is shown."""
    if actions == {Action.DROP}:
        return Action.DROP
    # Not even whether the struct is NULL is shown where no field is.
    return Action.MASK if actions <= {Action.MASK, Action.DROP} else None


def _whole(path: str, type_: Type, landed: Sequence[Type], policies: TablePolicies) -> Treatment:
    """Return the treatment of a value that is shown as a whole or not at all."""
    open_ = element_of(type_) == JSON or any(isinstance(one, Struct) or one == JSON for one in landed)
    held: dict[str, Decision] = {path: policies.decide(path)}
    held.update((below, policies.decide(below)) for below in _leaves(path, landed))
    named = policies.decide_below(path, open_)
    found = strictest([*held.values(), *([named] if named else [])])
    waiting = tuple(name for name, decision in held.items() if not decision.decided)
    return Treatment(path, type_, found.action if found else Action.MASK, waiting=waiting)


def _leaves(path: str, landed: Sequence[Type]) -> Iterator[str]:
    """Yield the fields of the structs that landed, at any depth, which hold no struct in turn."""
    for struct in (one for one in landed if isinstance(one, Struct)):
        for field in struct.fields:
            below, type_ = f"{path}.{field.name}", element_of(field.type)
            if isinstance(type_, Struct):
                yield from _leaves(below, [type_])
            else:
                yield below


def _field_types(landed: Sequence[Type], name: str) -> Iterator[Type]:
    for struct in landed:
        if isinstance(struct, Struct) and (field := struct.get(name)):
            yield element_of(field.type)


def landed_types(versions: Iterable[Sequence[Column]]) -> Mapping[str, tuple[Type, ...]]:
    """Return the types of each column in all versions that have it, each once, by the name as `fold_case` returns it.

    Examples:
        >>> found = landed_types([[Column("Id", JSON)], [Column("id", STRING)], [Column("ID", JSON)]])
        >>> [str(type_) for type_ in found["id"]]
        ['JSON', 'STRING']
    """
    found: dict[str, dict[Type, None]] = {}
    for column in (column for columns in versions for column in columns):
        found.setdefault(fold_case(column.name), {})[column.type] = None
    return {name: tuple(types) for name, types in found.items()}
