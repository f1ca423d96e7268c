"""References of schemas: within one document, to other schemas of the registries, and to the schema of Draft 4.

No reference is ever looked up in a network or in a file: what a set of schemas does not have does not exist.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from onefold.core.errors import InvalidName, SchemaInvalid, Violation
from onefold.core.text import shortened
from onefold.events.registry.schema_key import URI_PREFIX, SchemaKey
from onefold.events.registry.subschemas import Json, resolve, same_instance, subschemas
from onefold.events.registry.validator import DRAFT_4_NAMES, validator_of

if TYPE_CHECKING:
    from onefold.events.registry.json_schema import JsonSchema

_FRAGMENT = re.compile(r"#(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?")
"""The whole schema, or a pointer into it, with the characters that the fragment of a URI has (RFC 3986, section 3.5)."""
_PUBLISHED = re.compile(r"https?://[^/?#]+/(?:[^?#]*/)?schemas/(?P<path>[^?#]+)")
"""Where a web server has a schema. The key alone identifies it: the registries are asked for the key, and no server is."""
_WITHIN = "refer to a schema below #/definitions"
_WITHIN_OR_OTHER = "refer to a schema below #/definitions, or to iglu:VENDOR/NAME/jsonschema/VERSION"
_OTHERS = "add it first, or refer to a schema below #/definitions"

Find = Callable[[SchemaKey], "JsonSchema | None"]
"""Returns a schema of the set of schemas; None where the set does not have it."""


def referred_key(reference: str) -> SchemaKey | None:
    """Return the schema of a registry that a reference names; None where it names none.

    Examples:
        >>> print(referred_key("iglu:com.acme/user/jsonschema/1-0-0#/definitions/id"))
        iglu:com.acme/user/jsonschema/1-0-0
        >>> print(referred_key("http://iglucentral.com/schemas/com.acme/user/jsonschema/1-0-0#"))
        iglu:com.acme/user/jsonschema/1-0-0
        >>> referred_key("#/definitions/id")
    """
    document = reference.partition("#")[0]
    published = _PUBLISHED.fullmatch(document)
    if not published and not document.startswith(URI_PREFIX):
        return None
    try:
        return SchemaKey.parse(published["path"] if published else document)
    except InvalidName:
        return None


def local_violations(root: Json, path: str, reference: object) -> Iterator[Violation]:
    """Yield what is wrong with a reference as far as one schema alone tells it.

    Args:
        root: the schema.
        path: the place of the reference's schema.
        reference: the value of `$ref`.
    """
    place = path + "/$ref"
    if not isinstance(reference, str) or not _can_lead_somewhere(reference):
        problem = f"{shortened(str(reference))} is neither in this schema nor the URI of one in a registry"
        yield Violation(place, problem, _WITHIN_OR_OTHER)
    elif not reference.startswith("#"):
        return
    elif not isinstance(_pointed({"": root}, "", reference)[1], dict):
        yield Violation(place, f"{shortened(reference)} does not exist", _WITHIN)
    elif _never_ends({"": root}, "", reference):
        yield _circle(place, reference)


def foreign_references(schema: Json) -> list[tuple[str, str]]:
    """Return the place and the text of each reference that leads out of a schema, the schema of Draft 4 included."""
    found = [(path, inner["$ref"]) for path, inner in subschemas(schema) if "$ref" in inner]
    return [(f"{path}/$ref", text) for path, text in found if isinstance(text, str) and not text.startswith("#")]


def referred_schemas(schema: JsonSchema, find: Find) -> dict[str, Json]:
    """Return the schemas that a schema refers to, and those to which they refer, by URI as it is written, without `#`.

    Args:
        schema: the schema.
        find: the set of schemas that validates data.

    Raises:
        SchemaInvalid: references lead to nothing, or never end; the error lists all of them.
    """
    if not foreign_references(schema.json):
        return {}
    documents: dict[str, Json] = {"": schema.json}
    violations = list(_gather(documents, find))
    violations = violations or list(_checked(documents))
    if not violations:
        try:
            validator_of(schema.json, documents)
        except ValueError as error:
            problem = f"a reference leads to no valid schema: {shortened(str(error).splitlines()[0])}"
            violations.append(Violation("", problem, _WITHIN))
    if violations:
        raise SchemaInvalid(violations)
    return {uri: document for uri, document in documents.items() if uri}


def reference_violations(schema: JsonSchema, find: Find) -> list[Violation]:
    """Return which references of a schema lead to nothing in a set of schemas; an empty list where all are resolved."""
    try:
        referred_schemas(schema, find)
    except SchemaInvalid as error:
        return list(error.violations)
    return []


def _gather(documents: dict[str, Json], find: Find) -> Iterator[Violation]:
    """Add to documents what they refer to, and yield the references to what does not exist."""
    waiting = [""]
    while waiting:
        base = waiting.pop()
        for place, reference in foreign_references(documents[base]):
            uri = reference.partition("#")[0]
            if uri in documents or uri in DRAFT_4_NAMES:
                continue
            key = referred_key(uri)
            found = find(key) if key else None
            if found is None:
                yield Violation(*_named(base, place, f"no schema {key} is known"), _OTHERS)
            else:
                documents[uri] = found.json
                waiting.append(uri)


def _checked(documents: Mapping[str, Json]) -> Iterator[Violation]:
    for base, document in documents.items():
        for place, reference in foreign_references(document):
            uri = reference.partition("#")[0]
            if uri in documents and not isinstance(_pointed(documents, base, reference)[1], dict):
                yield Violation(*_named(base, place, f"{shortened(reference)} does not exist"), _WITHIN)
            elif _never_ends(documents, base, reference):
                yield _circle(*_named(base, place, reference))


def _named(base: str, place: str, problem: str) -> tuple[str, str]:
    """Return the place and the text of a problem: one in another document is named with its URI."""
    return ("", f"{base}, {place}: {problem}") if base else (place, problem)


def _circle(place: str, reference: str) -> Violation:
    problem = f"{shortened(reference)} leads back to itself for the same value"
    return Violation(place, problem, "refer to it from a property")


def _can_lead_somewhere(reference: str) -> bool:
    uri, _, fragment = reference.partition("#")
    known = not uri or uri in DRAFT_4_NAMES or referred_key(uri) is not None
    return known and bool(reference) and _FRAGMENT.fullmatch(f"#{fragment}") is not None


def _pointed(documents: Mapping[str, Json], base: str, reference: str) -> tuple[str, object]:
    """Return the document that a reference leads to, and the value in it; None as the value where it leads to nothing."""
    uri, _, fragment = reference.partition("#")
    document = uri or base
    root = {name: value for name, value in documents.get(document, {}).items() if name != "self"}
    return document, resolve(root, f"#{fragment}") if document in documents else None


def _never_ends(documents: Mapping[str, Json], base: str, reference: str) -> bool:
    """Return whether a reference leads back to itself without a step into the value: it would never be decided."""
    start = (base, reference)
    seen: set[tuple[str, str]] = set()
    waiting = [_pointed(documents, base, reference)]
    while waiting:
        place, schema = waiting.pop()
        if not isinstance(schema, dict):
            continue
        following = schema.get("$ref")
        if (place, following) == start:
            return True
        if isinstance(following, str) and (place, following) not in seen:
            seen.add((place, following))
            waiting.append(_pointed(documents, place, following))
        waiting += [(place, inner) for inner in same_instance(schema)]
    return False
