"""What a contract refuses of a schema that is to be added: a new column, or another type, by the columns in BigQuery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onefold.core.errors import Violation
from onefold.events.registry.bigquery_columns import bigquery_table
from onefold.events.registry.json_schema import JsonSchema
from onefold.schema.contract_rules import Contracts
from onefold.schema.diff import SchemaChange, compare

_KEYS = {"added": "new_columns", "retyped": "types"}


def contract_violations(existing: Sequence[JsonSchema], new: JsonSchema, contracts: Contracts) -> Iterator[Violation]:
    """Yield what the contract of a schema refuses of a new version; nothing of the first version of a schema.

    A new model has a table of its own, and is compared with the model before it: views join the tables of all models.

    Args:
        existing: all versions of the schema, of every model, in the order of addition.
        new: the schema that is to be added.
        contracts: those of the installation.
    """
    name = f"{new.key.vendor}/{new.key.name}"
    rules = {key: contracts.deciding(name, key, is_schema=True) for key in _KEYS.values()}
    refusing = {key: rule.pattern for key, rule in rules.items() if rule and rule.value == "refuse"}
    if not existing or not refusing:
        return
    same = [schema for schema in existing if schema.key.model_key == new.key.model_key]
    last = [schema for schema in existing if schema.key.model_key == existing[-1].key.model_key]
    before, after = bigquery_table(same or last), bigquery_table((*same, new))
    for change in compare(*([one.column for one in table.columns] for table in (before, after))):
        if pattern := refusing.get(_KEYS.get(change.kind, "")):
            yield _violation(change.path, _text(change), pattern, _KEYS[change.kind])


def _text(change: SchemaChange) -> str:
    if change.kind == "added":
        return f"the column {change.path} {change.new} is new"
    return f"the column {change.path} changes from {change.old} to {change.new}"


def _violation(path: str, text: str, pattern: str, key: str) -> Violation:
    advice = f"the contract of {pattern} in onefold.yaml refuses that (`{key}: refuse`): remove it, or change the contract"
    return Violation(path, text, advice)
