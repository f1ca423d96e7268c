"""The names of the tables of a registry's models. Schemas that differ in case and - . _ only want the same names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onefold.core.errors import Violation
from onefold.core.names import fold_case
from onefold.events.registry.adopted import AdoptedTables
from onefold.events.registry.schema_key import ModelKey, SchemaKey

_SHORTEST_DIGEST = 8


@dataclass(frozen=True)
class EventTableName:
    """The names of a model.

    Attributes:
        table: the name of its table, `com_acme_ad_click_1`.
        base: what all models and recovery tables of its schema share, and no other schema has, `com_acme_ad_click`.
    """

    table: str
    base: str


def table_names(models: Iterable[ModelKey]) -> dict[ModelKey, EventTableName]:
    """Return the names of all models of a registry.

    The schema that was added first has the plain base, and the model that was added first the plain table; others have a
    digest in their names. Names do not change when more is added, so that tables stay where they are.

    Args:
        models: the models in the order in which their first versions were added.

    Examples:
        >>> texts = ("com.acme/ad_click/jsonschema/1", "com.acme.ad/click/jsonschema/1", "com.acme.ad/click/jsonschema/2")
        >>> for name in table_names(map(ModelKey.parse, texts)).values():
        ...     print(name.table, name.base)
        com_acme_ad_click_1 com_acme_ad_click
        com_acme_ad_click_1c4efc47_1 com_acme_ad_click_1c4efc47
        com_acme_ad_click_2 com_acme_ad_click_1c4efc47
    """
    bases: dict[str, str] = {}
    tables: dict[str, str] = {}
    return {
        model: EventTableName(_take(model, f"_{model.model}", tables, model.path), _take(model, "", bases, model.schema))
        for model in models
    }


def _take(model: ModelKey, end: str, owners: dict[str, str], owner: str) -> str:
    """Return the name that an owner has, or one that is free, and note the owner.

    Args:
        model: the model whose base the name begins with.
        end: the end of the name.
        owners: the owners of the names that are taken.
        owner: who wants the name.
    """
    digest = hashlib.sha256(model.schema.encode()).hexdigest()
    name, length = model.base + end, _SHORTEST_DIGEST
    while owners.setdefault(name, owner) != owner:
        name, length = f"{model.base}_{digest[:length]}{end}", length + 1
    return name


def name_violations(existing: Sequence[SchemaKey], new: SchemaKey, adopted: AdoptedTables) -> list[Violation]:
    """Return why a schema may not be added because of its name: another one has the same names of tables, or its table.

    Args:
        existing: all schemas of the registry.
        new: the schema. A schema that is there may have more versions, whatever its name is.
        adopted: the tables of the registry that others made.
    """
    return [*_twin_violations(existing, new), *_adopted_violations(existing, new, adopted)]


def _adopted_violations(existing: Sequence[SchemaKey], new: SchemaKey, adopted: AdoptedTables) -> Iterator[Violation]:
    model = new.model_key
    if model in (models := [key.model_key for key in existing]):
        return
    name = table_names([*models, model])[model].table
    for (warehouse, other), table in adopted.items():
        if other and other != model and fold_case(table.name) == name and (warehouse, model) not in adopted:
            problem = f"its table, {name}, was adopted in {warehouse} for {other}, whose rows it has"
            yield Violation("/self/name", problem, "use another vendor or name")


def _twin_violations(existing: Sequence[SchemaKey], new: SchemaKey) -> list[Violation]:
    model = new.model_key
    known = {key.model_key.schema for key in existing}
    twins = sorted({key.model_key.schema for key in existing if key.model_key.base == model.base} - {model.schema})
    if model.schema in known or not twins:
        return []
    problem = f"{model.schema} and {' and '.join(twins)} have the same name of tables, {model.base}"
    return [Violation("/self/name", problem, "use another vendor or name, which differs in more than case and - . _")]
