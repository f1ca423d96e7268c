"""The models of a registry that was asked for each version by itself, and those of them that are left out as a whole."""

from __future__ import annotations

from collections.abc import Mapping

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.lookup import UnreadableSchema, UnusableSchema
from onefold.events.registry.registry import Registry
from onefold.events.registry.schema_key import ModelKey, SchemaKey

Found = JsonSchema | UnusableSchema
"""A schema, or why it cannot be used."""


def registry_of(found: Mapping[ModelKey, Mapping[SchemaKey, Found]], place: str) -> Registry:
    """Return the models, their versions in the given order.

    What cannot be used is left out by name. A model with a version that is no JSON is left out as a whole: the version may
    be there, and without it columns could get another order.

    Args:
        found: the versions of each model, in the order of addition.
        place: the address of the registry.
    """
    unreadable = {model: why for model, some in found.items() if (why := _why_unreadable(model, some))}
    models: dict[ModelKey, tuple[JsonSchema, ...]] = {}
    unusable: dict[str, str] = {}
    for model, some in found.items():
        usable = tuple(one for one in some.values() if isinstance(one, JsonSchema))
        if model in unreadable:
            unusable |= {key.uri: unreadable[model] for key in some}
        elif usable:
            models[model] = usable
        unusable |= {key.uri: str(one) for key, one in some.items() if isinstance(one, UnusableSchema)}
    return Registry(models, place, unusable, unreadable=frozenset(unreadable))


def _why_unreadable(model: ModelKey, found: Mapping[SchemaKey, Found]) -> str:
    """Return why a model is left out; an empty text where each of its versions is JSON."""
    reasons = [str(one) for one in found.values() if isinstance(one, UnreadableSchema)]
    rest = f"no version of {model} is used until this one can be read, since without it columns could get another order"
    return f"{reasons[0]}; {rest}" if reasons else ""
