"""The plan of an import: which schemas are added to a registry as they are, and what each of their changes really is.

Others have published these schemas, and data refers to them. So an import takes numbers with gaps, and believes no claim of
compatibility: the class of each change is computed, and the columns follow from the schemas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from onefold.core.text import shown_list
from onefold.events.registry.classify import Change, classify
from onefold.events.registry.ddl import Target
from onefold.events.registry.index import Index, IndexEntry, digest_of
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.order import claimed_class, predecessor
from onefold.events.registry.published import Published
from onefold.events.registry.references import Find, reference_violations
from onefold.events.registry.schema_key import SchemaKey

Outcome = Literal["added", "unchanged", "left out"]
OTHER_CONTENT = (
    "the registry has another schema under this key: import into another registry, or add the change as a new version"
)


@dataclass(frozen=True)
class ImportedSchema:
    """What becomes of a schema.

    Attributes:
        name: its URI; the path of a file that is no schema, or the line that is no URI.
        outcome: `left out` where it cannot be used.
        is_by_version: True where it takes its place by its version, since the order of addition is not known.
        claimed: the class that its number claims; None for the first version of a model, and for what is not added.
        change: the class that its change really is; None as `claimed`.
        reasons: why it is left out, or why its change is more than its number claims.
    """

    name: str
    outcome: Outcome
    is_by_version: bool = False
    claimed: str | None = None
    change: str | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class ImportPlan:
    """What an import does.

    Attributes:
        results: one for each schema and file of the source.
        added: the schemas that are added, in their order.
        index: the index after it.
    """

    results: tuple[ImportedSchema, ...]
    added: tuple[JsonSchema, ...]
    index: Index


@dataclass(frozen=True)
class KnownSchemas:
    """The registry into which schemas are imported, as it is.

    Attributes:
        index: its index.
        same_names: its schemas of the vendors, names and formats of the import, in the order of addition.
        find: returns any of its schemas.
        warehouses: those by whose columns changes are judged.
    """

    index: Index
    same_names: Sequence[JsonSchema]
    find: Find
    warehouses: Collection[Target]


def plan_import(known: KnownSchemas, published: Published, now: str) -> ImportPlan:
    """Return what an import of schemas does.

    Args:
        known: the registry as it is.
        published: what is imported.
        now: the time of the addition, in UTC, as 2026-11-22T14:00:00Z.
    """
    digests = {entry.key: entry.digest for entry in known.index.entries}
    others = {one.key: OTHER_CONTENT for one in published.schemas if digests.get(one.key, digest_of(one)) != digest_of(one)}
    offered = published.without(others)
    new = [schema for schema in offered.schemas if schema.key not in digests]
    offered = offered.without(_unresolved(new, known.find))
    new = [schema for schema in offered.schemas if schema.key not in digests]
    results = [_added(schema, change, offered) for schema, change in _changes(known, new)]
    entries = [
        IndexEntry(schema.key, digest_of(schema), now, one.is_by_version, one.change or "")
        for schema, one in zip(new, results, strict=True)
    ]
    unchanged = [ImportedSchema(one.key.uri, "unchanged") for one in offered.schemas if one.key in digests]
    left_out = [ImportedSchema(name, "left out", reasons=(why,)) for name, why in offered.unusable.items()]
    return ImportPlan((*unchanged, *results, *left_out), tuple(new), known.index.with_published(entries))


def _unresolved(new: Sequence[JsonSchema], find: Find) -> dict[SchemaKey, str]:
    """Return the schemas that refer to what neither the registry nor the import has, nor what is left out of it."""
    usable = {schema.key: schema for schema in new}
    left_out: dict[SchemaKey, str] = {}
    while True:
        found = {key: reference_violations(one, _either(usable, find)) for key, one in usable.items()}
        wrong = {key: shown_list(violations, joint="; ") for key, violations in found.items() if violations}
        if not wrong:
            return left_out
        left_out |= wrong
        usable = {key: schema for key, schema in usable.items() if key not in wrong}


def _either(usable: Mapping[SchemaKey, JsonSchema], find: Find) -> Find:
    return lambda key: usable.get(key) or find(key)


def _changes(known: KnownSchemas, new: Sequence[JsonSchema]) -> Iterator[tuple[JsonSchema, Change | None]]:
    """Yield each new schema with its change of the version before it; None for the first version of a model."""
    by_name: dict[str, list[JsonSchema]] = {}
    for schema in known.same_names:
        by_name.setdefault(schema.key.model_key.schema, []).append(schema)
    for schema in new:
        existing = by_name.setdefault(schema.key.model_key.schema, [])
        old = predecessor(schema.key.version, existing)
        earlier = [one for one in existing if one.key.model_key == schema.key.model_key]
        yield schema, classify(old, schema, earlier, known.warehouses) if old else None
        existing.append(schema)


def _added(schema: JsonSchema, change: Change | None, published: Published) -> ImportedSchema:
    result = ImportedSchema(schema.key.uri, "added", schema.key in published.by_version)
    if change is None:
        return result
    claimed = claimed_class(schema.key.version)
    reasons = tuple(str(reason) for reason in change.beyond(claimed))
    return replace(result, claimed=claimed.name, change=change.kind.name, reasons=reasons)


def as_dict(result: ImportedSchema) -> Mapping[str, object]:
    """Return the result as JSON has it."""
    return {
        "schema": result.name,
        "outcome": result.outcome,
        "order": ("version" if result.is_by_version else "addition") if result.outcome == "added" else None,
        "claimed": result.claimed,
        "class": result.change,
        "reasons": list(result.reasons),
    }
