"""The check of a folder of schemas before anything is added to a registry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onefold.events.registry.folder import CHANGED, FolderScan
from onefold.events.registry.index import Index
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.order import Rules, check_addition
from onefold.events.registry.references import reference_violations


@dataclass(frozen=True)
class LintReport:
    """What is wrong with a folder.

    Attributes:
        checked: how many files were checked.
        problems: one sentence each, with the file and what to do.
    """

    checked: int
    problems: tuple[str, ...]


def lint(scan: FolderScan, rules: Rules) -> LintReport:
    """Check a folder of schemas, as if what its index does not have were added next, by version.

    Args:
        scan: the files of the folder.
        rules: the configuration of the registry to which the schemas are going to be added.
    """
    # A file that is not valid would look like a gap: the rules of additions wait until all files of its name are valid.
    broken = {problem.rpartition("/")[0] for problem in scan.broken}
    problems = list(scan.problems)
    for schemas in _by_name(scan.schemas).values():
        if f"schemas/{schemas[0].key.path}".rpartition("/")[0] not in broken:
            problems += _addition_problems(schemas, scan.index, rules)
    problems += _missing(scan)
    problems += _unresolved(scan.schemas)
    problems += [f"schemas/{key.path}: it {CHANGED}" for key in scan.changed]
    problems += _shared_names(scan.schemas, scan.index)
    return LintReport(len(scan.schemas) + len(scan.broken), tuple(problems))


def _unresolved(schemas: Sequence[JsonSchema]) -> Iterator[str]:
    """Yield the references to schemas that the folder does not have."""
    by_key = {schema.key: schema for schema in schemas}
    for schema in schemas:
        yield from (f"schemas/{schema.key.path}: {violation}" for violation in reference_violations(schema, by_key.get))


def _by_name(schemas: Sequence[JsonSchema]) -> dict[tuple[str, str, str], list[JsonSchema]]:
    names: dict[tuple[str, str, str], list[JsonSchema]] = defaultdict(list)
    for schema in schemas:
        names[schema.key.vendor, schema.key.name, schema.key.format].append(schema)
    return dict(names)


def _addition_problems(schemas: Sequence[JsonSchema], index: Index | None, rules: Rules) -> Iterator[str]:
    """Yield what is wrong with the schemas of one name that were not added yet."""
    by_key = {schema.key: schema for schema in schemas}
    existing = [by_key[key] for key in (index.keys if index else ()) if key in by_key]
    for key in sorted(by_key.keys() - {schema.key for schema in existing}):
        for violation in check_addition(existing, by_key[key], rules):
            yield f"schemas/{key.path}: {violation}"
        existing.append(by_key[key])


def _missing(scan: FolderScan) -> Iterator[str]:
    files = {f"schemas/{schema.key.path}" for schema in scan.schemas} | set(scan.broken)
    for key in scan.index.keys if scan.index else ():
        if f"schemas/{key.path}" not in files:
            yield f"schemas/{key.path}: it is in the index, and has no file: restore it, schemas are never deleted"


def _shared_names(schemas: Sequence[JsonSchema], index: Index | None) -> Iterator[str]:
    """Yield the schemas that want the same names of tables, unless all of them were added: these have names of their own."""
    added = {key.model_key.schema for key in (index.keys if index else ())}
    bases: dict[str, set[str]] = defaultdict(set)
    for schema in schemas:
        bases[schema.key.model_key.base].add(schema.key.model_key.schema)
    for base, names in sorted(bases.items()):
        if len(names) > 1 and not names <= added:
            yield f"{' and '.join(sorted(names))} have the same name of tables, {base}: rename one that is not added yet"
