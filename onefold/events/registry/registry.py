"""A registry in memory: its schemas by model, in the order of addition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from onefold.core.errors import InvalidInput, NotFound
from onefold.core.text import shown_list
from onefold.events.registry.adopted import AdoptedTables
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import ModelKey, SchemaKey, SchemaVer


@dataclass(frozen=True)
class Registry:
    """The schemas of a registry.

    Attributes:
        models: the versions of each model, in the order of their addition.
        place: where the registry is, for errors.
        unusable: what the registry holds and cannot be used: the reason by URI, or by path for what has none.
        adopted: the tables that another loader made and that rows go to.
        origins: the address of the registry that each schema is of, where several were read as one.
        unreadable: the models that are left out, since one of their versions cannot be read now and would have columns.
        stale: why registries do not answer whose copies are used, by their names and addresses.
        known: the models of earlier runs and of this one, in the order in which runs have found them, where that is kept.
    """

    models: Mapping[ModelKey, tuple[JsonSchema, ...]]
    place: str
    unusable: Mapping[str, str] = field(default_factory=dict)
    adopted: AdoptedTables = field(default_factory=dict)
    origins: Mapping[SchemaKey, str] = field(default_factory=dict)
    stale: Mapping[str, str] = field(default_factory=dict)
    unreadable: frozenset[ModelKey] = frozenset()
    known: tuple[ModelKey, ...] = ()

    @property
    def named(self) -> tuple[ModelKey, ...]:
        """The models in the order in which their tables get names, those included that this run does not need."""
        return tuple(dict.fromkeys((*self.known, *self.models)))

    def find(self, key: SchemaKey) -> JsonSchema | None:
        """Return a schema; None where the registry does not have it, or cannot use it."""
        return next((schema for schema in self.models.get(key.model_key, ()) if schema.key == key), None)

    def versions(self, key: ModelKey) -> tuple[JsonSchema, ...]:
        """Return the versions of a model in the order of their addition.

        Raises:
            NotFound: the registry does not have the model.
        """
        if found := self.models.get(key):
            return found
        raise NotFound(no_such_model(self.place, key, [known.path for known in self.models]))

    def up_to(self, key: ModelKey, version: SchemaVer) -> tuple[JsonSchema, ...]:
        """Return the versions of a model that were added up to one of them.

        Raises:
            NotFound: the registry does not have the model, or the version.
        """
        versions = self.versions(key)
        for index, schema in enumerate(versions):
            if schema.key.version == version:
                return versions[: index + 1]
        known = shown_list(str(schema.key.version) for schema in versions)
        raise NotFound(f"{self.place} has no version {version} of {key}: it has {known}")


def check_no_order(order: Sequence[SchemaVer], place: str) -> None:
    """Check that no order of addition is given for a registry that has it.

    Raises:
        InvalidInput: one is given.
    """
    if order:
        raise InvalidInput(f"{place} knows the order of addition: leave --order out")


def no_such_model(place: str, key: ModelKey, known: Iterable[str]) -> str:
    """Return the error of a registry that does not have a model, with the model that may be meant.

    Examples:
        >>> key = ModelKey.parse("com.acme/click/jsonschema/2")
        >>> no_such_model("gs://b", key, ["com.acme/click/jsonschema/1"])
        'gs://b has no schema com.acme/click/jsonschema/2; did you mean com.acme/click/jsonschema/1?'
    """
    close = get_close_matches(key.path, sorted(known), n=1)
    return f"{place} has no schema {key}" + (f"; did you mean {close[0]}?" if close else "")


def in_order(schemas: Sequence[JsonSchema], order: Sequence[SchemaVer]) -> tuple[JsonSchema, ...]:
    """Return the versions of one model in a given order of addition.

    Raises:
        InvalidInput: the order does not name each version once; the error lists all problems.
    """
    by_version = {schema.key.version: schema for schema in schemas}
    problems = [
        f"the order has {version}, which the registry does not have: remove it"
        for version in order
        if version not in by_version
    ]
    problems += [
        f"the order lacks {version}: add it where it was added" for version in sorted(by_version.keys() - set(order))
    ]
    problems += [
        f"the order has {version} twice: keep one" for version in sorted({one for one in order if order.count(one) > 1})
    ]
    if problems:
        raise InvalidInput(problems)
    return tuple(by_version[version] for version in order)


def certain_order(schemas: Sequence[JsonSchema]) -> tuple[JsonSchema, ...]:
    """Return the versions of one model in the order of addition, where their numbers leave only one.

    Raises:
        InvalidInput: a version may have been added before or after versions of a higher REVISION.
    """
    ordered = sorted(schemas, key=lambda schema: schema.key.version)
    last = ordered[-1].key.version.revision
    uncertain = [schema.key for schema in ordered if schema.key.version.addition and schema.key.version.revision < last]
    if uncertain:
        versions = ",".join(str(schema.key.version) for schema in ordered)
        raise InvalidInput(
            f"{uncertain[0]} may have been added before or after {ordered[-1].key.version}, and there is no index that says "
            f"so: give the versions in the order of their addition, such as --order {versions}, or make a registry with an "
            "index by `onefold schema import`"
        )
    return tuple(ordered)
