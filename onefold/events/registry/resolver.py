"""An ordered list of registries: as addresses, or as the configuration of Iglu's resolver, versions 1-0-0 to 1-0-3.

The first registry that has a schema gives it. For a vendor, Iglu's resolver first asks the registries of which a prefix fits
(`vendorPrefixes`), of these embedded ones before those of the web, and then by `priority`, the lowest number first; all
others follow in the same order. (Snowplow, "Schema resolution", docs.snowplow.io, 2026-11.)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from onefold.core.errors import InvalidInput
from onefold.core.text import cut
from onefold.ports.objects import ObjectFinder

_SCHEMA = re.compile(r"iglu:com\.snowplowanalytics\.iglu/resolver-config/jsonschema/1-0-[0-3]")
_SHOWN = 100
_IN_JAR = "/iglu-client-embedded"
"""The schemas within Iglu's own library: those of its files of settings. Events have none of them."""
ReadKey = Callable[[str], str]
"""Returns the key to which `env:NAME`, `file:PATH` or `projects/P/secrets/S` refers, and another text as it is."""


@dataclass(frozen=True)
class ListedRegistry:
    """A registry of a list.

    Attributes:
        address: a folder, gs://, s3://, https://HOST/PATH of static files, or https://HOST/api of a server.
        name: for people; the address by default.
        api_key: the key for a server. It is in no text of this object.
        vendor_prefixes: the beginnings of vendors for which this registry is asked first.
        embedded: True for a folder of a resolver's configuration, which is asked before web servers.
        priority: the lowest number is asked first.
    """

    address: str
    name: str = ""
    api_key: str | None = field(default=None, repr=False)
    vendor_prefixes: tuple[str, ...] = ()
    embedded: bool = False
    priority: float = 0

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.name else self.address


@dataclass(frozen=True)
class RegistryList:
    """An ordered list of registries.

    Attributes:
        registries: the registries, in the order in which they are named.
        fresh_seconds: how long a copy of a registry is used without asking it again; 0: every run asks.
    """

    registries: tuple[ListedRegistry, ...]
    fresh_seconds: int = 0

    def for_vendor(self, vendor: str) -> tuple[ListedRegistry, ...]:
        """Return all registries in the order in which they are asked for schemas of a vendor.

        Examples:
            >>> own = ListedRegistry("/own", priority=5)
            >>> central = ListedRegistry("https://iglu.example", vendor_prefixes=("com.snowplow",), priority=9)
            >>> [one.address for one in RegistryList((own, central)).for_vendor("com.snowplowanalytics.snowplow")]
            ['https://iglu.example', '/own']
            >>> [one.address for one in RegistryList((own, central)).for_vendor("com.acme")]
            ['/own', 'https://iglu.example']
        """

        def rank(one: ListedRegistry) -> tuple[bool, bool, float]:
            return not vendor.startswith(one.vendor_prefixes), not one.embedded, one.priority

        return tuple(sorted(self.registries, key=rank))


def is_resolver(address: str) -> bool:
    """Return whether an address is that of a resolver's configuration: it ends with `.json`, which no registry does.

    Examples:
        >>> is_resolver("gs://acme/resolver.json"), is_resolver("https://iglu.example/api")
        (True, False)
    """
    return address.endswith(".json")


def listed(addresses: Sequence[str], api_key: str | None = None) -> RegistryList:
    """Return a list of registries that are asked in the order in which they are named.

    Args:
        addresses: the addresses.
        api_key: the key of the one server among them; of a single registry, whatever it is.

    Raises:
        InvalidInput: an address is there twice, is a resolver's configuration, or the key could be that of several servers.
    """
    places = [address.rstrip("/") or address for address in addresses]
    servers = places if len(places) == 1 else [place for place in places if is_server(place)]
    twice = sorted({place for place in places if places.count(place) > 1})
    problems = [f"{place} is named twice: name it once" for place in twice]
    problems += [f"{place} is a resolver's configuration, which is the whole list: name it alone" for place in places
                 if is_resolver(place)]  # fmt: skip
    if api_key and len(servers) > 1:
        problems.append("there is one key for several servers: name them with their keys in a resolver's configuration")
    if problems:
        raise InvalidInput(problems)
    return RegistryList(tuple(ListedRegistry(place, api_key=api_key if place in servers else None) for place in places))


def is_server(address: str) -> bool:
    """Return whether an address is that of a server with Iglu's API."""
    return "://" in address and urlsplit(address).path.rstrip("/").endswith("/api")


def read_list(
    places: Sequence[str],
    api_key: str | None,
    objects_at: Callable[[str, str | None], ObjectFinder],
    read_key: ReadKey,
) -> RegistryList:
    """Return the list of registries that addresses, or the file of a resolver, name.

    Args:
        places: the addresses, or that of the file.
        api_key: the key of the one server.
        objects_at: returns the objects below an address, read with a key.
        read_key: reads what `apikey` refers to.

    Raises:
        InvalidInput: the list or the file is not valid.
        OnefoldError: the file, or a key to which it refers, cannot be read.
    """
    if len(places) != 1 or not is_resolver(places[0]):
        return listed(places, api_key)
    found = objects_at(places[0], api_key).find(places[0])
    if found is None:
        raise InvalidInput(f"{places[0]} does not exist: name the file of a resolver's configuration, or a registry")
    return parse_resolver(found.data, places[0], read_key)


def parse_resolver(data: bytes, place: str, read_key: ReadKey) -> RegistryList:
    """Return the registries of a resolver's configuration.

    Args:
        data: the content of the file.
        place: its address, for errors and for the folders that it names.
        read_key: reads what `apikey` refers to.

    Raises:
        InvalidInput: the content is not a resolver's configuration; the error lists all problems, and has no key.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):  # the text of the error may show a key
        raise InvalidInput(f"{place} is not a resolver's configuration: expected JSON") from None
    problems = list(_problems(document))
    if problems:
        raise InvalidInput([f"{place}: {problem}" for problem in problems])
    found = document["data"]
    registries = tuple(_registry(one, read_key) for one in found["repositories"] if not _is_in_jar(one))
    if not registries:
        raise InvalidInput(f"{place} names no registry but {_IN_JAR}, which has no schemas of events: add one")
    return RegistryList(registries, found.get("cacheTtl") or 0)


def _registry(one: Mapping[str, Any], read_key: ReadKey) -> ListedRegistry:
    connection = one["connection"]
    http, embedded = connection.get("http"), connection.get("embedded")
    key = http.get("apikey") if http else None
    return ListedRegistry(
        (http["uri"] if http else embedded["path"]).rstrip("/"),
        one["name"],
        read_key(key) if key else None,
        tuple(one["vendorPrefixes"]),
        embedded is not None,
        one["priority"],
    )


def _is_in_jar(one: Mapping[str, Any]) -> bool:
    return bool(one["connection"].get("embedded", {}).get("path") == _IN_JAR)


_Check = Callable[[Any], bool]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _is_time_to_live(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


_DATA: Mapping[str, tuple[str, _Check]] = {
    "cacheSize": ("a number", _is_number),
    "cacheTtl": ("a whole number of seconds from 0", _is_time_to_live),
    "repositories": ("a list with at least one registry", lambda value: isinstance(value, list) and bool(value)),
}
_REPOSITORY: Mapping[str, tuple[str, _Check]] = {
    "name": ("a text", lambda value: isinstance(value, str)),
    "priority": ("a number", _is_number),
    "vendorPrefixes": ("a list of texts", _is_list_of_texts),
    "connection": ("an object with http or embedded", lambda value: isinstance(value, dict) and len(value) == 1),
}
_CONNECTIONS: Mapping[str, Mapping[str, tuple[str, _Check]]] = {
    "http": {
        "uri": ("a text", _is_text),
        "apikey": ("a text", lambda value: value is None or isinstance(value, str)),
    },
    "embedded": {"path": ("a text", _is_text)},
}
_OPTIONAL = ("cacheTtl", "apikey")


def _problems(document: Any) -> Iterator[str]:
    if not isinstance(document, dict) or not isinstance(document.get("data"), dict):
        yield "expected an object with schema and data, a resolver's configuration"
        return
    if not isinstance(document.get("schema"), str) or not _SCHEMA.fullmatch(document["schema"]):
        yield (
            f"schema is {cut(str(document.get('schema')), _SHOWN)}: expected "
            "iglu:com.snowplowanalytics.iglu/resolver-config/jsonschema/1-0-0 to 1-0-3"
        )
    yield from _problems_of(document["data"], _DATA, "data")
    repositories = document["data"].get("repositories")
    for number, one in enumerate(repositories if isinstance(repositories, list) else ()):
        where = f"data.repositories[{number}]"
        wrong = list(_problems_of(one, _REPOSITORY, where))
        yield from wrong or _problems_of_connection(one["connection"], f"{where}.connection")


def _problems_of_connection(connection: Mapping[str, Any], where: str) -> Iterator[str]:
    kind, found = next(iter(connection.items()))
    if kind not in _CONNECTIONS:
        yield f"{where}.{cut(kind, _SHOWN)} is unknown: expected http or embedded"
        return
    wrong = list(_problems_of(found, _CONNECTIONS[kind], f"{where}.{kind}"))
    yield from wrong
    if kind == "http" and not wrong and not _is_plain_url(found["uri"]):
        yield (
            f"{where}.http.uri: expected https://HOST/PATH without a user, a password, a query or a fragment: "
            "a key belongs into apikey"
        )


def _is_plain_url(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and named and "@" not in parts.netloc and not set(uri) & set("?# \t\r\n")


def _problems_of(found: Any, checks: Mapping[str, tuple[str, _Check]], where: str) -> Iterator[str]:
    """Yield what is wrong with an object, without its values: one of them may be a key."""
    if not isinstance(found, dict):
        yield f"{where}: expected an object"
        return
    yield from (f"{where}.{name} is missing" for name in checks if name not in found and name not in _OPTIONAL)
    yield from (f"{where}.{cut(name, _SHOWN)} is unknown: remove it" for name in found if name not in checks)
    for name, (expected, check) in checks.items():
        if name in found and not check(found[name]):
            yield f"{where}.{name}: expected {expected}"
