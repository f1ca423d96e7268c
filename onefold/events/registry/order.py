"""The rules of an addition: numbers without a gap, and the class of the change against what its number claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from onefold.core.errors import Violation
from onefold.events.registry.classify import ChangeClass, classify
from onefold.events.registry.columns import second_names, table_of
from onefold.events.registry.ddl import TARGETS, Target
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.leaves import place_of
from onefold.events.registry.schema_key import SchemaVer

Order = Literal["by-addition", "sequential"]
_PLACE = "/self/version"
_MOST_SHOWN = 6


@dataclass(frozen=True)
class Rules:
    """The configuration of a registry.

    Attributes:
        order: `by-addition` takes 1-0-1 after 1-1-0; `sequential` refuses it, since SchemaVer and the order of addition
            would differ.
        patches: whether a schema may be replaced in place, as in a registry for development.
        warehouses: those that get the data: an addition is judged by the columns of each.
    """

    order: Order = "by-addition"
    patches: bool = False
    warehouses: tuple[Target, ...] = TARGETS


def check_addition(existing: Sequence[JsonSchema], new: JsonSchema, rules: Rules) -> list[Violation]:
    """Return why a schema may not be added: an empty list where it may.

    Args:
        existing: all schemas of this vendor, name and format, in the order of their addition. A patch replaces the one with
            the version of `new`, at its place.
        new: the schema.
        rules: the configuration of the registry.
    """
    versions = [schema.key.version for schema in existing]
    version = new.key.version
    if version in versions:
        if not rules.patches:
            return [Violation(_PLACE, f"{version} exists already", f"use {_shown(allowed_versions(versions, rules))}")]
        place = versions.index(version)
        return list(_content_violations(existing[:place], new, rules, versions))
    if version not in (allowed := allowed_versions(versions, rules)):
        return [Violation(_PLACE, _number_problem(version, versions), f"use {_shown(allowed)}")]
    return list(_content_violations(existing, new, rules, versions))


def allowed_versions(existing: Sequence[SchemaVer], rules: Rules) -> list[SchemaVer]:
    """Return the versions that may be added next.

    Examples:
        >>> versions = [SchemaVer.parse(text) for text in ("1-0-0", "1-1-0")]
        >>> [str(version) for version in allowed_versions(versions, Rules())]
        ['1-0-1', '1-1-1', '1-2-0', '2-0-0']
        >>> [str(version) for version in allowed_versions(versions, Rules(order="sequential"))]
        ['1-1-1', '1-2-0', '2-0-0']
    """
    known = set(existing)
    next_ = {SchemaVer(max((one.model for one in known), default=0) + 1, 0, 0)}
    for one in known:
        following = [SchemaVer(one.model, one.revision, one.addition + 1), SchemaVer(one.model, one.revision + 1, 0)]
        next_ |= {version for version in following if version not in known}
    if rules.order == "sequential":
        last = {model: max(one for one in known if one.model == model) for model in {one.model for one in known}}
        next_ = {version for version in next_ if version.model not in last or version > last[version.model]}
    return sorted(next_)


def claimed_class(version: SchemaVer) -> ChangeClass:
    """Return the class that a version's number claims for its change.

    Examples:
        >>> [claimed_class(SchemaVer.parse(text)).name for text in ("1-0-1", "1-1-0", "2-0-0")]
        ['ADDITION', 'REVISION', 'MODEL']
    """
    if version.addition:
        return ChangeClass.ADDITION
    return ChangeClass.REVISION if version.revision else ChangeClass.MODEL


def predecessor(version: SchemaVer, existing: Sequence[JsonSchema]) -> JsonSchema | None:
    """Return the schema that a version's number claims to change; None for the first version of a model."""
    before = [one for one in existing if one.key.version < version and one.key.version.model == version.model]
    return max(before, key=lambda schema: schema.key.version, default=None)


def _content_violations(
    existing: Sequence[JsonSchema], new: JsonSchema, rules: Rules, known: Sequence[SchemaVer]
) -> Iterator[Violation]:
    """Yield why the content of a schema breaks the rules.

    Args:
        existing: the schemas before it, in the order of their addition.
        new: the schema.
        rules: the configuration of the registry.
        known: the versions of all schemas, also of those after one that is replaced.
    """
    version = new.key.version
    claimed, old = claimed_class(version), predecessor(version, existing)
    earlier = tuple(one for one in existing if one.key.version.model == version.model)
    if old is not None:
        change = classify(old, new, earlier, rules.warehouses)
        # One number for all reasons: what a single one needs would be refused again because of the others.
        number = _next_number(change.kind, version, known)
        for reason in change.beyond(claimed):
            problem = str(reason).removeprefix(f"{reason.path or 'schema'}: ")
            kept = "keep the type" if reason.kind is ChangeClass.MODEL else "keep what was valid"
            yield Violation(reason.path, f"{problem}; {version} claims {claimed.name}", f"add it as {number}, or {kept}")
    yield from _name_violations(earlier, new)


def _next_number(kind: ChangeClass, version: SchemaVer, known: Sequence[SchemaVer]) -> SchemaVer:
    """Return the version that claims a class and may be added next."""
    if kind is ChangeClass.MODEL:
        return SchemaVer(max(one.model for one in known) + 1, 0, 0)
    return SchemaVer(version.model, max(one.revision for one in known if one.model == version.model) + 1, 0)


def _name_violations(earlier: tuple[JsonSchema, ...], new: JsonSchema) -> Iterator[Violation]:
    """Yield the properties of a new schema whose columns could not have their names."""
    known = {column.path for column in table_of(earlier).columns} if earlier else set()
    for column in second_names(table_of((*earlier, new))):
        if column.path not in known:
            problem = f"the name of the column is taken or too long; it would be {column.name}"
            yield Violation(place_of(column.path), problem, "use another name, which differs in more than case and - . _")


def _number_problem(version: SchemaVer, existing: Sequence[SchemaVer]) -> str:
    later = [one for one in existing if one.model == version.model and one > version]
    if later:
        return f"{version} comes before {max(later)}, which exists"
    return f"{version} leaves a gap" if existing else f"{version} is not the first version"


def _shown(versions: Sequence[SchemaVer]) -> str:
    """Return versions for people: the last ones where there are many."""
    return " or ".join(map(str, versions[-_MOST_SHOWN:]))
