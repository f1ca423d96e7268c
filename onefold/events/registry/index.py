"""The index of a registry: which schemas it holds, in the order of addition. The index is the only truth about both.

A write of the index is the moment at which a schema is added. Its object is written afterwards, from `pending`: until the
next addition the index holds the text of the last one, so that a crash between the two writes loses nothing. Only an import
writes the objects of many schemas first: without an entry in the index they are no schemas yet.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from onefold.core.errors import InvalidInput, InvalidName
from onefold.core.text import shortened
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.schema_key import SchemaKey

INDEX_PATH = "schemas/index.json"
"""Where a registry has its index, below its address."""
_FORM = 1
_BY_VERSION = "version"
_DIGEST = re.compile(r"[0-9a-f]{64}")


def schema_path(key: SchemaKey) -> str:
    """Return where a registry has a schema, below its address.

    Examples:
        >>> schema_path(SchemaKey.parse("iglu:com.acme/ad_click/jsonschema/1-0-2"))
        'schemas/com.acme/ad_click/jsonschema/1-0-2'
    """
    return f"schemas/{key.path}"


def digest_of(schema: JsonSchema) -> str:
    """Return the SHA-256 of a schema's canonical text: layout and the order of keys make no difference."""
    return hashlib.sha256(schema.canonical.encode()).hexdigest()


def schema_text(schema: JsonSchema) -> str:
    """Return a schema as its object holds it: JSON for people, with the keys in the order in which they were given."""
    return json.dumps(schema.json, ensure_ascii=False, indent=2) + "\n"


@dataclass(frozen=True)
class IndexEntry:
    """A schema of a registry.

    Attributes:
        key: its identity.
        digest: the SHA-256 of its canonical text.
        added: when it was added, in UTC, as 2026-11-22T14:00:00Z.
        is_by_version: True where the schema was imported from a registry that did not tell its order of addition: it has its
            place by its version.
        change: the class of the change that an imported schema really is, `ADDITION`, `REVISION` or `MODEL`; empty for the
            first version of a model, and where a number claims the class by the rules of additions.
    """

    key: SchemaKey
    digest: str
    added: str
    is_by_version: bool = False
    change: str = ""


@dataclass(frozen=True)
class Index:
    """The schemas of a registry in the order of addition.

    Attributes:
        entries: one for each schema.
        pending: the last schema that was added or replaced, and its text, whose object may not be written yet.
    """

    entries: tuple[IndexEntry, ...] = ()
    pending: tuple[SchemaKey, str] | None = None

    @property
    def keys(self) -> tuple[SchemaKey, ...]:
        """All schemas in the order of addition."""
        return tuple(entry.key for entry in self.entries)

    def find(self, key: SchemaKey) -> IndexEntry | None:
        """Return the entry of a schema; None where the registry does not have it."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def pending_text(self, key: SchemaKey) -> str | None:
        """Return the text of a schema whose object may not be written yet."""
        return self.pending[1] if self.pending and self.pending[0] == key else None

    def with_schema(self, schema: JsonSchema, added: str) -> Index:
        """Return the index with one more schema at the end, or with another text of a schema at its old place."""
        entry = IndexEntry(schema.key, digest_of(schema), added)
        old = self.find(schema.key)
        entries = tuple(replace(one, digest=entry.digest) if one is old else one for one in self.entries)
        return Index(entries if old else (*entries, entry), (schema.key, schema_text(schema)))

    def with_published(self, entries: Iterable[IndexEntry]) -> Index:
        """Return the index with more schemas at the end, whose objects are written already."""
        return Index((*self.entries, *entries))

    def to_json(self) -> bytes:
        """Return the index as its object holds it, one schema on each line."""
        lines = ",\n".join(json.dumps(_as_dict(entry)) for entry in self.entries)
        pending = {"key": self.pending[0].path, "text": self.pending[1]} if self.pending else None
        return f'{{"form": {_FORM}, "schemas": [\n{lines}\n],\n"pending": {json.dumps(pending)}}}\n'.encode()


def _as_dict(entry: IndexEntry) -> dict[str, str]:
    found = {"key": entry.key.path, "sha256": entry.digest, "added": entry.added}
    found |= {"order": _BY_VERSION} if entry.is_by_version else {}
    return found | ({"class": entry.change} if entry.change else {})


def parse_index(data: bytes, place: str) -> Index:
    """Return the index that an object holds.

    Args:
        data: the content of the object.
        place: the address of the object, for errors.

    Raises:
        InvalidInput: the content is not an index; the error lists all problems.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{place} is not the index of a registry: {error}; restore an earlier version of it") from error
    if not isinstance(document, dict) or document.get("form") != _FORM or not isinstance(document.get("schemas"), list):
        raise InvalidInput(f"{place} is not the index of a registry: expected an object with form {_FORM} and schemas")
    problems: list[str] = []
    entries = tuple(_entries(document["schemas"], problems))
    pending = _pending(document.get("pending"), problems)
    problems.extend(f"{key} is there twice" for key in _twice(entries))
    if problems:
        raise InvalidInput([f"{place}: {problem}; restore an earlier version of the index" for problem in problems])
    return Index(entries, pending)


def _entries(rows: list[Any], problems: list[str]) -> Iterator[IndexEntry]:
    for number, row in enumerate(rows, start=1):
        key = _key(row, problems, f"schema {number}")
        if key is None:
            continue
        if isinstance(row.get("sha256"), str) and _DIGEST.fullmatch(row["sha256"]) and isinstance(row.get("added"), str):
            yield IndexEntry(key, row["sha256"], row["added"], row.get("order") == _BY_VERSION, str(row.get("class", "")))
        else:
            problems.append(f"schema {number}: expected sha256 with 64 digits, and the time added")


def _pending(row: object, problems: list[str]) -> tuple[SchemaKey, str] | None:
    if row is None:
        return None
    key = _key(row, problems, "pending")
    text = row.get("text") if isinstance(row, Mapping) else None
    if key and isinstance(text, str):
        return key, text
    if key:
        problems.append("pending: expected key and text")
    return None


def _key(row: object, problems: list[str], where: str) -> SchemaKey | None:
    text = row.get("key") if isinstance(row, Mapping) else None
    try:
        return SchemaKey.parse(text if isinstance(text, str) else "")
    except InvalidName:
        problems.append(f"{where}: {shortened(str(text))} is not vendor/name/format/version")
        return None


def _twice(entries: tuple[IndexEntry, ...]) -> Iterator[SchemaKey]:
    seen: set[SchemaKey] = set()
    for entry in entries:
        if entry.key in seen:
            yield entry.key
        seen.add(entry.key)
