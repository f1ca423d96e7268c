"""Copies of registries: what each had when it was last asked, for the time in which it does not answer."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from onefold.core.errors import InvalidInput
from onefold.events.registry.adopted import AdoptedTables, adopted_text, parse_adopted
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.kept_orders import Orders
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import ModelKey, SchemaKey

_FORM = 1


@dataclass(frozen=True)
class RegistryCopy:
    """What a registry had when it was last asked.

    Attributes:
        registry: the name and the address of the registry.
        models: the versions of each model in the order of addition; none of a model that the registry did not have.
        listed_at: when the registry was read as a whole, with its zone; None where it cannot be listed.
        asked_at: when a registry that cannot be listed was asked for a model.
        unusable: what the registry has and cannot be used: the reason by URI.
        adopted: the tables of other loaders that its settings name.
    """

    registry: str
    models: Mapping[ModelKey, tuple[JsonSchema, ...]] = field(default_factory=dict)
    listed_at: datetime | None = None
    asked_at: Mapping[ModelKey, datetime] = field(default_factory=dict)
    unusable: Mapping[str, str] = field(default_factory=dict)
    adopted: AdoptedTables = field(default_factory=dict)

    def has(self, key: SchemaKey) -> bool:
        """Return whether the registry had a schema, usable or not."""
        return key.uri in self.unusable or any(one.key == key for one in self.models.get(key.model_key, ()))

    def time_of(self, model: ModelKey) -> datetime | None:
        """Return when the registry was asked for a model; None where it never was."""
        return self.asked_at.get(model, self.listed_at)

    def listed(self, found: Registry, now: datetime) -> RegistryCopy:
        """Return the copy of a registry that was read as a whole. A model with an unreadable version stays as it was."""
        models = {**found.models, **{model: self.models[model] for model in found.unreadable if self.models.get(model)}}
        usable = {schema.key.uri for model in found.unreadable for schema in models.get(model, ())}
        unusable = {uri: why for uri, why in found.unusable.items() if uri not in usable}
        return RegistryCopy(self.registry, models, now, {}, unusable, found.adopted)

    def with_models(self, asked: frozenset[ModelKey], found: Registry, now: datetime) -> RegistryCopy:
        """Return the copy with what a registry has answered that cannot be listed.

        Columns follow from the order of the versions, so an order that a run has used stays: what is found later comes last,
        and what is not answered any more stays where it was. A model with an unreadable version stays as it was.

        Args:
            asked: the models that it was asked for.
            found: what it has of them.
            now: the time.
        """
        gone = asked - found.models.keys() - found.unreadable  # the registry has no version any more
        before = {model: schemas for model, schemas in self.models.items() if model not in gone}
        models = {**before, **{model: _later(self.models.get(model, ()), new) for model, new in found.models.items()}}
        others = {uri: why for uri, why in self.unusable.items() if SchemaKey.parse(uri).model_key not in asked}
        usable = {schema.key.uri for schemas in models.values() for schema in schemas}
        answered = {
            model for model in asked if not (model in found.unreadable and models.get(model) and self.time_of(model))
        }
        return replace(
            self,
            models=models,
            listed_at=None,
            asked_at={**self.asked_at, **dict.fromkeys(answered, now)},
            unusable={uri: why for uri, why in {**others, **found.unusable}.items() if uri not in usable},
        )

    def without(self, unreadable: Collection[ModelKey]) -> RegistryCopy:
        """Return the copy for later runs: what could not be read is not known of it, and is asked for again."""
        asked = {model: time for model, time in self.asked_at.items() if model not in unreadable or self.models.get(model)}
        unusable = {uri: why for uri, why in self.unusable.items() if SchemaKey.parse(uri).model_key not in unreadable}
        return replace(self, asked_at=asked, unusable=unusable)

    def to_json(self) -> str:
        """Return the content of the copy's file. It has no key of the registry."""
        document = {
            "form": _FORM,
            "registry": self.registry,
            "listed_at": self.listed_at.isoformat() if self.listed_at else None,
            "asked_at": {model.path: time.isoformat() for model, time in self.asked_at.items()},
            "schemas": [schema.json for schemas in self.models.values() for schema in schemas],
            "unusable": dict(self.unusable),
            "adopted": adopted_text(list(self.adopted.values())),
        }
        return json.dumps(document, ensure_ascii=False) + "\n"


def _later(before: tuple[JsonSchema, ...], found: tuple[JsonSchema, ...]) -> tuple[JsonSchema, ...]:
    """Return versions of a model as they were found, those of an earlier run first and in its order."""
    return tuple({schema.key: schema for schema in (*before, *found)}.values())


def parse_copy(text: str) -> RegistryCopy | None:
    """Return the copy that a file holds; None for another content: a run that was killed has left a part, or a release."""
    try:
        found = json.loads(text)
        if found["form"] != _FORM:
            return None
        models: dict[ModelKey, tuple[JsonSchema, ...]] = {}
        for document in found["schemas"]:
            schema = parse_schema(document)
            models[schema.key.model_key] = (*models.get(schema.key.model_key, ()), schema)
        times = {ModelKey.parse(path): datetime.fromisoformat(time) for path, time in found["asked_at"].items()}
        listed_at = datetime.fromisoformat(found["listed_at"]) if found["listed_at"] else None
        adopted = {(one.warehouse, one.model): one for one in parse_adopted(found["adopted"], found["registry"])}
        return RegistryCopy(found["registry"], models, listed_at, times, found["unusable"], adopted)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, InvalidInput):
        return None


class Copies(Protocol):
    """Where copies of registries are kept from run to run."""

    def find(self, registry: str) -> RegistryCopy | None:
        """Return the copy of a registry, by its name and address; None where there is none."""

    def save(self, copy: RegistryCopy) -> None:
        """Keep a copy in place of an earlier one."""

    def find_orders(self) -> Orders:
        """Return the orders of versions that earlier runs have used."""

    def save_orders(self, orders: Orders) -> None:
        """Keep the orders of versions that this run uses."""
