"""What a change of a schema really is: ADDITION, REVISION or MODEL, with every reason and its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.columns import Merge, ModelTable, table_of
from onefold.events.registry.containment import narrowings
from onefold.events.registry.ddl import TARGETS, Target
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import leaf_changes, place_in, place_of
from onefold.schema.redshift import RedshiftType, merged_type


class ChangeClass(IntEnum):
    """The class of a change; a greater one is the stricter one.

    ADDITION: everything that was valid stays valid, and each column stays as it is.
    REVISION: each column holds the new values, but earlier data may be invalid, or a column grows.
    MODEL: a column cannot hold the new values.
    """

    ADDITION = 1
    REVISION = 2
    MODEL = 3


@dataclass(frozen=True)
class Reason:
    """One reason why a change is of its class.

    Attributes:
        kind: the least class for which this is allowed.
        path: the place in the schema, as a JSON pointer.
        text: what changed.
        decided: False where the class is the stricter one because a keyword cannot be decided.
    """

    kind: ChangeClass
    path: str
    text: str
    decided: bool = True

    def __str__(self) -> str:
        note = "" if self.decided else f"; counted as {self.kind.name}, the stricter class"
        return f"{self.path or 'schema'}: {self.text}{note}"

    def as_dict(self) -> dict[str, str | bool]:
        return {"class": self.kind.name, "path": self.path, "reason": self.text, "decided": self.decided}


@dataclass(frozen=True)
class Change:
    """The difference between two versions: its class, and the reasons, those of the strictest class first."""

    kind: ChangeClass
    reasons: tuple[Reason, ...]

    def beyond(self, claimed: ChangeClass) -> tuple[Reason, ...]:
        """Return the reasons why the change is more than a class."""
        return tuple(reason for reason in self.reasons if reason.kind > claimed)


def classify(
    old: JsonSchema, new: JsonSchema, earlier: Sequence[JsonSchema] = (), warehouses: Collection[Target] = TARGETS
) -> Change:
    """Return the class of the change from one version to another.

    Args:
        old: the version before.
        new: the later version.
        earlier: all versions of the model that were added before `new`, in the order of their addition, where the table has
            more of them than `old`.
        warehouses: those whose columns are judged.

    Examples:
        >>> from onefold.events.registry.json_schema import parse_schema
        >>> own = {"vendor": "com.acme", "name": "click", "format": "jsonschema", "version": "1-0-0"}
        >>> closed = {"self": own, "type": "object", "additionalProperties": False}
        >>> old = parse_schema({**closed, "properties": {"id": {"type": "integer"}}})
        >>> new = parse_schema({**closed, "properties": {"id": {"type": "string"}}})
        >>> change = classify(old, new)
        >>> change.kind.name, str(change.reasons[0])
        ('MODEL', '/properties/id: the column id is BIGINT and cannot hold VARCHAR(4096)')
    """
    versions = tuple(earlier) or (old,)
    reasons = [*_of_columns(versions, new, warehouses), *_of_removed(old, new), *_of_validity(old, new)]
    reasons.sort(key=lambda reason: (-reason.kind, reason.path, reason.text))
    return Change(max((reason.kind for reason in reasons), default=ChangeClass.ADDITION), tuple(reasons))


def _of_columns(earlier: tuple[JsonSchema, ...], new: JsonSchema, warehouses: Collection[Target]) -> Iterator[Reason]:
    found = list(_of_leaves(earlier, new, merged_type if "redshift" in warehouses else _any_type))
    yield from found
    if "bigquery" in warehouses:
        refused = {reason.path for reason in found if reason.kind is ChangeClass.MODEL}
        yield from (reason for reason in _in_bigquery(earlier, new) if reason.path not in refused)


def _any_type(existing: RedshiftType, new: RedshiftType) -> RedshiftType:  # noqa: ARG001
    """Return the type of a column where Redshift does not matter."""
    return existing


def _in_bigquery(earlier: tuple[JsonSchema, ...], new: JsonSchema) -> Iterator[Reason]:
    before, after = bigquery_table(earlier), bigquery_table((*earlier, new))
    for recovery in after.recovered[len(before.recovered) :]:
        for misfit in recovery.misfits:
            yield Reason(ChangeClass.MODEL, place_in(new.json, misfit.path), f"in BigQuery the column {misfit}")
    for mixed in after.mixed[len(before.mixed) :]:
        kind = ChangeClass.MODEL if mixed.nullable else ChangeClass.REVISION
        yield Reason(kind, place_in(new.json, mixed.path), f"in BigQuery {mixed}")


def _of_leaves(earlier: tuple[JsonSchema, ...], new: JsonSchema, merged: Merge) -> Iterator[Reason]:
    before, after = table_of(earlier, merged), table_of((*earlier, new), merged)
    for recovery in after.recovered[len(before.recovered) :]:
        for misfit in recovery.misfits:
            yield Reason(ChangeClass.MODEL, place_of(misfit.path), f"the column {misfit}")
    yield from _of_growth(before, after)


def _of_growth(before: ModelTable, after: ModelTable) -> Iterator[Reason]:
    for old, new in zip(before.columns, after.columns, strict=False):
        place = place_of(old.path)
        if old.type != new.type:
            yield Reason(ChangeClass.REVISION, place, f"the column {old.name} grows from {old.type} to {new.type}")
        if new.nullable and not old.nullable:
            yield Reason(ChangeClass.REVISION, place, f"the column {old.name} may be NULL now")
        if old.json_types != new.json_types:
            types = ", ".join(sorted(new.json_types - old.json_types)) or "any type"
            yield Reason(ChangeClass.REVISION, place, f"the column {old.name} holds {types} now, too")


def _of_removed(old: JsonSchema, new: JsonSchema) -> Iterator[Reason]:
    for change in leaf_changes(old.json, new.json):
        if change.new is None:
            yield Reason(ChangeClass.REVISION, place_of(change.path), "the property is removed; its column stays")


def _of_validity(old: JsonSchema, new: JsonSchema) -> Iterator[Reason]:
    for one in narrowings(old.json, new.json):
        yield Reason(ChangeClass.REVISION, one.path, one.problem, one.decided)
