"""What another registry has published, read as it is: schemas in order, and what cannot be used, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from onefold.core.errors import InvalidInput, InvalidName, NotFound, Rejected
from onefold.core.text import shortened, shown_list
from onefold.events.registry.index import INDEX_PATH
from onefold.events.registry.json_schema import FORMAT, JsonSchema, other_format
from onefold.events.registry.lookup import find_each
from onefold.events.registry.reader import SchemaReader
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.registry.sources import SchemaSource, StaticSource
from onefold.ports.objects import ListedFiles

NOT_THERE = "the registry does not have it: correct its URI, or restore it there"


@dataclass(frozen=True)
class Published:
    """The content of a registry.

    Attributes:
        schemas: those that can be used, in the order of addition.
        by_version: those of them whose order of addition is not known: they are in the order of their versions.
        unusable: the reason for each of the others, by URI, or by path for what has none.
    """

    schemas: tuple[JsonSchema, ...]
    by_version: frozenset[SchemaKey]
    unusable: Mapping[str, str]

    def without(self, reasons: Mapping[SchemaKey, str]) -> Published:
        """Return the content with some schemas among what cannot be used, for the given reasons."""
        kept = tuple(schema for schema in self.schemas if schema.key not in reasons)
        left_out = {key.uri: reason for key, reason in reasons.items()}
        return replace(self, schemas=kept, unusable={**self.unusable, **left_out})


@dataclass(frozen=True)
class Listing:
    """The names of what a registry holds.

    Attributes:
        keys: its schemas in the order of addition, those of other formats included.
        by_version: those of them whose order of addition is not known: they are in the order of their versions.
        others: why files are no schemas, by path.
    """

    keys: tuple[SchemaKey, ...]
    by_version: frozenset[SchemaKey] = frozenset()
    others: Mapping[str, str] | None = None

    def of_vendors(self, vendors: Sequence[str]) -> Listing:
        """Return the part of some vendors; all of it where none is named.

        Raises:
            NotFound: the registry has no schema of a vendor.
        """
        if not vendors:
            return self
        known = {key.vendor for key in self.keys}
        if missing := [vendor for vendor in vendors if vendor not in known]:
            raise NotFound(f"the registry has no schemas of {shown_list(missing)}: it has {shown_list(sorted(known))}")
        others = {path: why for path, why in (self.others or {}).items() if path.split("/")[0] in vendors}
        return Listing(tuple(key for key in self.keys if key.vendor in vendors), self.by_version, others)

    def of_named(self, named: Listing) -> Listing:
        """Return the part that a list of URIs names, in the order of the registry; what the registry has not is named."""
        wanted = set(named.keys)
        unknown = {key.uri: NOT_THERE for key in named.keys if key not in set(self.keys)}
        return Listing(
            tuple(key for key in self.keys if key in wanted), self.by_version & wanted, {**(named.others or {}), **unknown}
        )


def parse_uris(text: str) -> Listing:
    r"""Return the schemas that a list of URIs names, by model, revision and addition: the list tells no order of addition.

    A line that is not a URI is named, and stops nothing else.

    Args:
        text: one URI a line, `iglu:com.acme/ad_click/jsonschema/1-0-0`; what follows a `#` is a comment.

    Raises:
        InvalidInput: there is no URI in it.

    Examples:
        >>> found = parse_uris("# clicks\niglu:a/b/jsonschema/1-1-0\niglu:a/b/jsonschema/1-0-2\nclick")
        >>> [key.uri for key in found.keys], list(found.others)
        (['iglu:a/b/jsonschema/1-0-2', 'iglu:a/b/jsonschema/1-1-0'], ["line 4, 'click'"])
    """
    keys: set[SchemaKey] = set()
    others: dict[str, str] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not (uri := line.partition("#")[0].strip()):
            continue
        try:
            keys.add(SchemaKey.parse(uri))
        except InvalidName as error:
            others[f"line {number}, {shortened(uri)}"] = shown_list(error.problems, joint="; ")
    if not keys and not others:
        raise InvalidInput("expected URIs of schemas, one a line, as iglu:com.acme/ad_click/jsonschema/1-0-0; got none")
    return Listing(tuple(sorted(keys)), frozenset(keys), others)


def list_source(source: SchemaSource) -> Listing:
    """Return what a registry lists.

    Raises:
        InvalidInput: the registry cannot be listed.
        OnefoldError: the registry does not answer, or refuses.
    """
    if isinstance(source, SchemaReader):
        entries = source.index().entries
        return Listing(tuple(one.key for one in entries), frozenset(one.key for one in entries if one.is_by_version))
    keys = source.list_keys()
    if isinstance(source, StaticSource):
        return Listing(tuple(sorted(keys)), frozenset(keys))
    return Listing(keys)


def list_tree(address: str, objects: ListedFiles) -> Listing:
    """Return what a folder or a bucket without an index holds, by model, revision and addition.

    Args:
        address: the folder that has `schemas`.
        objects: the files below it.

    Raises:
        NotFound: it has no folder `schemas`.
        OnefoldError: the store does not answer, or refuses.
    """
    try:
        names = sorted(objects.list_files(f"{address}/schemas"))
    except NotFound as error:
        expected = "expected schemas/<vendor>/<name>/<format>/<version>"
        raise NotFound(f"{address} has no folder schemas: {expected}") from error
    keys: list[SchemaKey] = []
    others: dict[str, str] = {}
    for name in names:
        if any(part.startswith(".") for part in name.split("/")) or f"schemas/{name}" == INDEX_PATH:
            continue
        try:
            keys.append(SchemaKey.parse(name))
        except InvalidName as error:
            others[name] = shown_list(error.problems, joint="; ")
    return Listing(tuple(sorted(keys)), frozenset(keys), others)


def read_published(source: SchemaSource, listing: Listing) -> Published:
    """Return the schemas of a listing; what cannot be used is named, and stops nothing else.

    Args:
        source: the registry.
        listing: what is read of it.

    Raises:
        OnefoldError: the registry does not answer.
    """
    unusable = dict(listing.others or {})
    unusable |= {key.uri: other_format(key.format) for key in listing.keys if key.format != FORMAT}
    keys = [key for key in listing.keys if key.format == FORMAT]
    found = dict(zip(keys, find_each(_reader(source), keys), strict=True))
    unusable |= {key.uri: one for key, one in found.items() if isinstance(one, str)}
    schemas = tuple(one for one in found.values() if isinstance(one, JsonSchema))
    return Published(schemas, listing.by_version & {schema.key for schema in schemas}, unusable)


def _reader(source: SchemaSource) -> Callable[[SchemaKey], JsonSchema | str]:
    """Return what reads a schema, or the reason why it cannot be used."""
    index = source.index() if isinstance(source, SchemaReader) else None

    def read(key: SchemaKey) -> JsonSchema | str:
        try:
            found = source.find_in(index, key) if index and isinstance(source, SchemaReader) else source.find(key)
        except (InvalidInput, Rejected) as error:
            return str(error).replace("\n", "; ")
        return found or NOT_THERE

    return read
