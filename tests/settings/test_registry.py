"""The settings of a schema registry."""

from __future__ import annotations

import pytest

from onefold.core.errors import InvalidSettings
from onefold.settings.environment import load_settings
from onefold.settings.registry import RegistrySettings


def test_without_variables_nothing_is_public_and_nothing_is_replaced() -> None:
    assert load_settings({}).registry == RegistrySettings(None, "by-addition", False, None, (), None)


def test_every_variable_is_read() -> None:
    environ = {
        "ONEFOLD_REGISTRY": "gs://bucket/registry/",
        "ONEFOLD_REGISTRY_ORDER": "sequential",
        "ONEFOLD_REGISTRY_PATCHES": "allowed",
        "ONEFOLD_REGISTRY_WAREHOUSES": "redshift",
        "ONEFOLD_REGISTRY_KEYS": "/keys/keys.json",
        "ONEFOLD_REGISTRY_PUBLIC": "com.acme, org.open-data ,*",
        "ONEFOLD_REGISTRY_APIKEY": "secret",
    }
    expected = RegistrySettings(
        "gs://bucket/registry", "sequential", True, "/keys/keys.json", ("com.acme", "org.open-data", "*"), "secret",
        ("redshift",),
    )  # fmt: skip
    assert load_settings(environ).registry == expected


def test_all_problems_are_listed_at_once() -> None:
    environ = {
        "ONEFOLD_REGISTRY": "gs://Bucket/../x",
        "ONEFOLD_REGISTRY_ORDER": "random",
        "ONEFOLD_REGISTRY_PATCHES": "true",
        "ONEFOLD_REGISTRY_PUBLIC": "com.acme.,*.acme",
        "ONEFOLD_REGISTRY_KEY": "x",
    }
    with pytest.raises(InvalidSettings) as caught:
        load_settings(environ)
    told = [problem.split(" ")[0].rstrip(":") for problem in caught.value.problems]
    assert sorted(told) == sorted([*environ, "ONEFOLD_REGISTRY_PUBLIC"])


def test_the_function_needs_an_address() -> None:
    with pytest.raises(InvalidSettings, match="ONEFOLD_REGISTRY is not set"):
        load_settings({}).registry.require_address()
