"""onefold.yaml: the settings of tables and datasets. The file is checked strictly, and all problems are reported at once.

`onefold.schema.json` tells its structure, types and known keys. What a schema cannot tell is in the functions `*_problems`
of the module for each key. What passes both is turned into values without another check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from onefold.core.errors import InvalidSettings
from onefold.core.problems import Problem
from onefold.core.united_names import UnitedTable
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.contract_rules import Contracts
from onefold.schema.table_rules import TableRules
from onefold.settings.captures import CaptureSettings
from onefold.settings.checked_form import SCHEMA, is_form, read_form
from onefold.settings.owners import NO_OWNERS, Owners
from onefold.settings.schema_check import Rules, load_schema, problems_of
from onefold.settings.sources import Source
from onefold.settings.yaml_captures import capture_problems, read_captures
from onefold.settings.yaml_contracts import contract_problems, read_contracts
from onefold.settings.yaml_loader import Document, load_yaml, parse_yaml
from onefold.settings.yaml_owners import owner_problems, read_owners
from onefold.settings.yaml_policies import policy_problems, read_policies
from onefold.settings.yaml_rules import (
    dataset_problems,
    name_problems,
    read_names,
    read_rules,
    read_tables,
    rule_problems,
    table_problems,
)
from onefold.settings.yaml_sources import read_sources, source_problems
from onefold.settings.yaml_unite import read_unite, unite_problems


@dataclass(frozen=True)
class TablesFile:
    """The content of onefold.yaml.

    Attributes:
        rules: the rules of all tables.
        tables: the rules of single tables, by `table` or `dataset.table`.
        names: the naming of versioned tables, in all datasets.
        datasets: the naming of versioned tables, in single datasets.
        sources: the servers whose tables are pulled, by name.
        policies: the policies of columns; None where the file has none.
        captures: the settings of captured sources, by name.
        unite: the tables that are united of those of many datasets.
        contracts: what views do about changes of the source.
        owners: who is notified of changes.
    """

    rules: TableRules = field(default_factory=TableRules)
    tables: Mapping[str, TableRules] = field(default_factory=dict)
    names: VersionedNames = DEFAULT_NAMES
    datasets: Mapping[str, VersionedNames] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    policies: ColumnPolicies | None = None
    captures: Mapping[str, CaptureSettings] = field(default_factory=dict)
    unite: tuple[UnitedTable, ...] = ()
    contracts: Contracts = field(default_factory=Contracts)
    owners: Owners = NO_OWNERS


def read_tables_file(path: Path) -> TablesFile:
    """Read and check the file; or read its checked form, which was checked when it was written.

    Raises:
        InvalidSettings: the file cannot be read or used; the error lists all problems.
    """
    return tables_of(read_form(path)) if is_form(path) else checked(load_yaml(path))


def tables_of_text(key: str, text: str, where: str) -> TablesFile:
    """Return the settings of one key, whose value a text in YAML or JSON holds; an empty text has none.

    Args:
        key: the key of the file, as `captures`.
        text: the text.
        where: where the text comes from.

    Raises:
        InvalidSettings: the text cannot be read or used; the error lists all problems.
    """
    if not text:
        return TablesFile()
    found = parse_yaml(text, where)
    return checked(Document(where, {key: found.content}, twice=found.twice, failure=found.failure))


def checked(document: Document, also: Rules = lambda _: iter(())) -> TablesFile:
    """Return the settings of a document.

    Args:
        document: the document as it was read.
        also: yields problems that only this caller minds.

    Raises:
        InvalidSettings: it has problems; the error lists all of them.
    """
    schema = load_schema(SCHEMA)
    if problems := problems_of(document, schema, lambda content: chain(_rules(content), also(content))):
        raise InvalidSettings(problems)
    return tables_of(document.content or {})


def tables_of(content: Mapping[str, Any]) -> TablesFile:
    """Return the settings of a content that was checked."""
    rules, names = read_rules(content), read_names(content)
    return TablesFile(
        rules,
        read_tables(content.get("tables") or {}, rules),
        names,
        {name: read_names(body or {}, names) for name, body in (content.get("datasets") or {}).items()},
        read_sources(content.get("sources") or {}),
        read_policies(content["policies"] or {}) if "policies" in content else None,
        read_captures(content.get("captures") or {}),
        read_unite(content.get("unite")),
        read_contracts(content.get("contracts") or {}),
        read_owners(content.get("owners") or {}),
    )


def _rules(found: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield the problems that the schema cannot tell."""
    yield from rule_problems(found)
    yield from name_problems(found)
    yield from table_problems(found.get("tables") or {})
    yield from dataset_problems(found.get("datasets") or {})
    yield from source_problems(found.get("sources") or {})
    yield from policy_problems(found.get("policies") or {})
    yield from capture_problems(found.get("captures") or {})
    yield from unite_problems(found)
    yield from contract_problems(found.get("contracts") or {})
    yield from owner_problems(found.get("owners") or {})
