"""The configuration of Iglu's resolver, and the order in which registries are asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onefold.core.errors import InvalidInput
from onefold.events.registry.resolver import ListedRegistry, listed, parse_resolver

KEY = "5a1e0c4f-1111-4222-8333-444455556666"


def repository(name: str = "Iglu Central", uri: str = "https://iglucentral.example", **more: Any) -> dict[str, Any]:
    return {"name": name, "priority": 0, "vendorPrefixes": [], "connection": {"http": {"uri": uri}}, **more}


def config(*repositories: object, version: str = "1-0-3", **more: Any) -> dict[str, Any]:
    uri = f"iglu:com.snowplowanalytics.iglu/resolver-config/jsonschema/{version}"
    return {"schema": uri, "data": {"cacheSize": 500, "repositories": list(repositories), **more}}


def parsed(document: object) -> Any:
    return parse_resolver(json.dumps(document).encode(), "resolver.json", lambda text: f"read {text}")


def asked(document: object, vendor: str) -> list[str]:
    return [one.name for one in parsed(document).for_vendor(vendor)]


@pytest.mark.parametrize("version", ["1-0-0", "1-0-1", "1-0-2", "1-0-3"])
def test_each_published_version_is_read(version: str) -> None:
    found = parsed(config(repository(), version=version))
    assert found.registries == (ListedRegistry("https://iglucentral.example", "Iglu Central"),)
    assert found.fresh_seconds == 0


def test_all_fields_are_read() -> None:
    connection = {"http": {"uri": "https://iglu.acme.example/api/", "apikey": KEY}}
    own = repository("Own", priority=1.5, vendorPrefixes=["com.acme"], connection=connection)
    found = parsed(config(own, repository("Local", connection={"embedded": {"path": "/schemas"}}), cacheTtl=600))
    assert found.fresh_seconds == 600
    assert found.registries == (
        ListedRegistry("https://iglu.acme.example/api", "Own", f"read {KEY}", ("com.acme",), False, 1.5),
        ListedRegistry("/schemas", "Local", None, (), True, 0),
    )


def test_null_is_no_key_and_no_time_to_live() -> None:
    connection = {"http": {"uri": "https://a.example", "apikey": None}}
    found = parsed(config(repository(connection=connection), cacheTtl=None))
    assert (found.registries[0].api_key, found.fresh_seconds) == (None, 0)


def test_a_fitting_prefix_goes_before_embedded_and_embedded_before_priority() -> None:
    document = config(
        repository("late", priority=9),
        repository("early", priority=1),
        repository("folder", priority=99, connection={"embedded": {"path": "/schemas"}}),
        repository("of acme", priority=999, vendorPrefixes=["org.other", "com.acme"]),
    )
    assert asked(document, "com.acme.shop") == ["of acme", "folder", "early", "late"]
    assert asked(document, "com.example") == ["folder", "early", "late", "of acme"]


def test_equal_priorities_keep_the_order_of_the_file() -> None:
    assert asked(config(repository("b"), repository("a")), "com.acme") == ["b", "a"]


def test_an_empty_prefix_fits_every_vendor() -> None:
    assert asked(config(repository("a"), repository("b", vendorPrefixes=[""])), "com.acme") == ["b", "a"]


def test_a_file_with_no_registry_but_iglus_own_library_is_refused() -> None:
    with pytest.raises(InvalidInput, match="names no registry but /iglu-client-embedded"):
        parsed(config(repository("Embedded", connection={"embedded": {"path": "/iglu-client-embedded"}})))


def test_the_schemas_within_iglus_own_library_are_left_out() -> None:
    within = repository("Embedded", connection={"embedded": {"path": "/iglu-client-embedded"}})
    assert [one.name for one in parsed(config(within, repository())).registries] == ["Iglu Central"]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ([], "expected an object with schema and data"),
        (config(repository(), version="2-0-0"), "schema is iglu:com.snowplowanalytics.iglu/resolver-config"),
        (config(), "data.repositories: expected a list with at least one registry"),
        (config(repository(), cacheTtl=-1), "data.cacheTtl: expected a whole number of seconds from 0"),
        (config(repository(), other=1), "data.other is unknown: remove it"),
        (config(5), "data.repositories[0]: expected an object"),
        (config({"name": "a"}), "data.repositories[0].priority is missing"),
        (config(repository(priority="high")), "data.repositories[0].priority: expected a number"),
        (config(repository(vendorPrefixes="com")), "data.repositories[0].vendorPrefixes: expected a list of texts"),
        (config(repository(connection={})), "data.repositories[0].connection: expected an object with http or embedded"),
        (config(repository(connection={"ftp": {}})), "data.repositories[0].connection.ftp is unknown"),
        (config(repository(connection={"http": {}})), "data.repositories[0].connection.http.uri is missing"),
        (config(repository(uri="ftp://a.example")), "data.repositories[0].connection.http.uri: expected https://HOST/PATH"),
        (
            config(repository(uri="https://a.example:x")),
            "data.repositories[0].connection.http.uri: expected https://HOST/PATH",
        ),
    ],
)
def test_what_is_wrong_is_named(document: object, problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(document)
    assert f"resolver.json: {problem}" in str(caught.value)


def test_all_problems_are_named_at_once() -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(config(repository(priority="x"), repository(connection={"http": {}}), cacheTtl="x"))
    assert len(caught.value.problems) == 3


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(config(repository(uri=f"https://user:{KEY}@a.example"))),
        json.dumps(config(repository(uri=f"https://a.example/?apikey={KEY}"))),
        json.dumps(config(repository(connection={"http": {"uri": "https://a.example", "apikey": [KEY]}}))),
        json.dumps(config(repository(connection={"http": {"uri": 5, "apikey": KEY}}))),
        f'{{"data": {{"apikey": "{KEY}",,',
    ],
)
def test_no_error_shows_a_key(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_resolver(text.encode(), "resolver.json", lambda key: key)
    assert KEY not in str(caught.value)
    assert caught.value.__context__ is None or KEY not in str(caught.value.__context__)


def test_no_text_of_a_registry_shows_its_key() -> None:
    one = ListedRegistry("https://a.example/api", "Own", KEY)
    assert str(one) == "Own (https://a.example/api)"
    assert KEY not in repr(one)


def test_addresses_are_asked_in_the_order_in_which_they_are_named() -> None:
    found = listed(["gs://own/registry/", "https://iglucentral.example", "/folder"])
    assert [one.address for one in found.for_vendor("com.acme")] == [
        "gs://own/registry", "https://iglucentral.example", "/folder",
    ]  # fmt: skip


def test_the_one_key_goes_to_the_one_server() -> None:
    found = listed(["https://own.example/api", "https://central.example"], KEY)
    assert [one.api_key for one in found.registries] == [KEY, None]
    assert listed(["https://static.example"], KEY).registries[0].api_key == KEY


@pytest.mark.parametrize(
    ("places", "problem"),
    [
        (["https://a.example/api", "https://b.example/api"], "there is one key for several servers"),
        (["/a", "/a/"], "/a is named twice"),
        (["/a", "/resolver.json"], "/resolver.json is a resolver's configuration"),
    ],
)
def test_a_list_that_is_not_certain_is_refused(places: list[str], problem: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        listed(places, KEY)
    assert problem in str(caught.value)
    assert KEY not in str(caught.value)
