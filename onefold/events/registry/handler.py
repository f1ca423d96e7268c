"""The API of a registry: Iglu's paths, status codes and header `apikey`, so that existing tools can use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from onefold.core.errors import OnefoldError, SchemaInvalid
from onefold.core.log import log
from onefold.events.registry.api_keys import ApiKey, find_key, is_below
from onefold.events.registry.http import MAX_BODY, ApiRequest, Refusal, Response, found, told
from onefold.events.registry.index import Index, IndexEntry
from onefold.events.registry.json_schema import JsonSchema, parse_schema
from onefold.events.registry.recording import SchemaRecording
from onefold.events.registry.schema_key import SchemaKey, part_problems
from onefold.events.registry.store import AdditionOutcome, RegistryStore, SchemaExists

_SCHEMAS = "/api/schemas"
_VALIDATION = f"{_SCHEMAS}/validation/schema/jsonschema"
_HEALTH = "/api/meta/health"
_PARTS = ("vendor", "name", "format")
_REPRESENTATIONS = ("uri", "meta", "canonical")
_READS = ("GET", "HEAD")
_MAX_KEY = 200
"""Characters of a key that are looked at."""

_INVALID = "The schema breaks rules of the registry"

Result = TypeVar("Result")


@dataclass(frozen=True)
class RegistryHandler:
    """The answers of one registry.

    Attributes:
        store: the registry.
        keys: returns the present keys; they are read for each request, so that a key that was revoked is refused at once.
        public: prefixes of vendors whose schemas everybody may read.
        recording: records what is added in the ledger of changes; None where that is not done.
    """

    store: RegistryStore
    keys: Callable[[], Iterable[ApiKey]]
    public: tuple[str, ...] = ()
    recording: SchemaRecording | None = None

    def answer(self, request: ApiRequest) -> Response:
        """Return the answer to a request; an error of the store is answered by 503, and logged."""
        try:
            return self._route(request)
        except Refusal as refusal:
            return refusal.response
        except OnefoldError as error:
            log("ERROR", f"the registry does not work: {error}", event="registry_failed", reason=str(error))
            return told(503, "The registry does not work now; its log says why", {"Retry-After": "10"})

    def _route(self, request: ApiRequest) -> Response:
        path = request.path.removesuffix("/")
        if path == _HEALTH:
            _check_method(request, _READS)
            return Response(200, b"OK", {"Content-Type": "text/plain"})
        if path == _VALIDATION:
            _check_method(request, ("POST",))
            return self._validate(request)
        if path == _SCHEMAS:
            _check_method(request, (*_READS, "POST"))
            return self._add(request, None) if request.method == "POST" else self._list(request, ())
        if not path.startswith(f"{_SCHEMAS}/"):
            raise Refusal(404, f"There is nothing here: schemas are below {_SCHEMAS}")
        parts = tuple(path.removeprefix(f"{_SCHEMAS}/").split("/"))
        key = _key_of(parts)
        _check_method(request, (*_READS, "PUT") if key else _READS)
        if key is None:
            return self._list(request, parts)
        return self._add(request, key) if request.method == "PUT" else self._get(request, key)

    def _get(self, request: ApiRequest, key: SchemaKey) -> Response:
        self._check_reader(request, key.vendor)
        index = self.store.index()
        entry = index.find(key)
        if entry is None:
            raise Refusal(404, f"The schema {key} is not found")
        shown = _representation(request, "canonical")
        return found(self._shown(entry, index, shown), request.if_none_match)

    def _list(self, request: ApiRequest, parts: tuple[str, ...]) -> Response:
        """Answer with the schemas below a path, in the order of addition: those that the request may read.

        Raises:
            Refusal: the request may read none of them, or there are none.
        """
        presented = self._presented(request)
        if parts:
            self._check_reader(request, parts[0])
        shown, index = _representation(request, "uri"), self.store.index()
        entries = [
            entry for entry in index.entries if entry.key.is_below(parts) and self._may_read(presented, entry.key.vendor)
        ]
        if parts and not entries:
            raise Refusal(404, f"There are no schemas below {'/'.join(parts)}")
        if shown != "uri":
            self.store.schemas(entries, index)  # at the same time, where they are not known yet
        return found([self._shown(entry, index, shown) for entry in entries], request.if_none_match)

    def _shown(self, entry: IndexEntry, index: Index, shown: str) -> Any:
        if shown == "uri":
            return entry.key.uri
        schema = self.store.schema(entry, index)
        if shown == "canonical":
            return schema.json
        public = is_below(entry.key.vendor, self.public)
        return {**schema.json, "metadata": {"createdAt": entry.added, "isPublic": public, "sha256": entry.digest}}

    def _validate(self, request: ApiRequest) -> Response:
        """Answer whether a schema could be added now, with every reason where it could not; nothing is added."""
        self._check_key(request)
        schema = _parsed(request)
        self._check_reader(request, schema.key.vendor)
        _by_rules(lambda: self.store.check(schema))
        return told(200, f"The schema {schema.key} is valid and can be added")

    def _add(self, request: ApiRequest, key: SchemaKey | None) -> Response:
        presented = self._check_key(request)
        if key:
            _check_writer(presented, key.vendor)
        schema = _parsed(request)
        if key and schema.key != key:
            raise Refusal(400, f"The path names {key}, and the body {schema.key}: send the schema to its own path")
        _check_writer(presented, schema.key.vendor)
        outcome = _by_rules(lambda: (self.recording or self.store).add(schema))
        log(
            "NOTICE",
            f"{schema.key} {outcome}",
            event="schema_added",
            schema=schema.key.uri,
            outcome=outcome,
            key=presented.name,
        )
        status = 201 if outcome is AdditionOutcome.ADDED else 200
        return told(status, _SENTENCES[outcome], updated=outcome is AdditionOutcome.PATCHED, location=schema.key.uri)

    def _presented(self, request: ApiRequest) -> ApiKey | None:
        """Return the key of a request; None where it presents none.

        Raises:
            Refusal: the key is unknown.
        """
        if request.api_key is None:
            return None
        key = find_key(self.keys(), request.api_key) if len(request.api_key) <= _MAX_KEY else None
        if key is None:
            raise Refusal(401, "The key in the header apikey is unknown")
        return key

    def _check_key(self, request: ApiRequest) -> ApiKey:
        key = self._presented(request)
        if key is None:
            raise Refusal(401, "Expected a key in the header apikey")
        return key

    def _may_read(self, key: ApiKey | None, vendor: str) -> bool:
        return is_below(vendor, self.public) or (key is not None and key.reads(vendor))

    def _check_reader(self, request: ApiRequest, vendor: str) -> None:
        """Check the right to read a vendor's schemas, whether or not there are any.

        Raises:
            Refusal: the request does not have the right.
        """
        key = self._presented(request)
        if self._may_read(key, vendor):
            return
        if key is None:
            raise Refusal(401, f"The schemas of {vendor} are not public: expected a key in the header apikey")
        raise Refusal(403, f"The key {key.name} may not read schemas of {vendor}")


_SENTENCES = {
    AdditionOutcome.ADDED: "Schema created",
    AdditionOutcome.UNCHANGED: "The registry has this schema already",
    AdditionOutcome.PATCHED: "Schema updated",
}


def _by_rules(work: Callable[[], Result]) -> Result:
    """Run `work`, which checks a schema by the rules of the registry.

    Raises:
        Refusal: the schema breaks rules (400), or another one has its key (409).
    """
    try:
        return work()
    except SchemaInvalid as error:
        raise Refusal(400, _INVALID, report=_report(error)) from error
    except SchemaExists as error:
        raise Refusal(409, str(error)) from error


def _report(error: SchemaInvalid) -> list[dict[str, str]]:
    return [violation.as_dict() for violation in error.violations]


def _check_writer(key: ApiKey, vendor: str) -> None:
    if not key.writes(vendor):
        raise Refusal(403, f"The key {key.name} may not add schemas of {vendor}")


def _check_method(request: ApiRequest, allowed: tuple[str, ...]) -> None:
    if request.method not in allowed:
        raise Refusal(405, f"Expected {' or '.join(allowed)}, got {request.method[:20]}", {"Allow": ", ".join(allowed)})


def _parsed(request: ApiRequest) -> JsonSchema:
    body = request.read_body(MAX_BODY + 1)
    if len(body) > MAX_BODY:
        raise Refusal(413, f"The body has more than {MAX_BODY:,} bytes: split the schema")
    try:
        return parse_schema(body)
    except SchemaInvalid as error:
        raise Refusal(400, _INVALID, report=_report(error)) from error


def _representation(request: ApiRequest, default: str) -> str:
    shown = request.query.get("repr", default)
    if shown not in _REPRESENTATIONS:
        raise Refusal(400, f"repr: expected one of {', '.join(_REPRESENTATIONS)}")
    return shown


def _key_of(parts: tuple[str, ...]) -> SchemaKey | None:
    """Check the parts of a path, and return the schema where the path names one.

    Raises:
        Refusal: a part can be no part of a schema's key.
    """
    named = list(zip(_PARTS, parts[:3], strict=False))
    problems = [problem for kind, text in named for problem in part_problems(kind, text)]
    is_model = len(parts) == 4 and not part_problems("model", parts[3])
    if len(parts) == 4 and not is_model:
        problems += part_problems("version", parts[3])
    if len(parts) > 4:
        problems.append("expected at most vendor/name/format/version")
    if problems:
        raise Refusal(404, "There is no such path", report=problems)
    return SchemaKey.parse("/".join(parts)) if len(parts) == 4 and not is_model else None
