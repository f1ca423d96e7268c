"""Keys of schemas: SchemaVer, the names of tables and columns, and what is no key."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onefold.core.errors import InvalidName
from onefold.events.registry.schema_key import ModelKey, SchemaKey, SchemaVer, snake


def test_versions_compare_as_numbers() -> None:
    texts = ["2-0-10", "1-0-9", "2-0-9", "1-10-0", "1-2-0", "1-0-10"]
    ordered = sorted(SchemaVer.parse(text) for text in texts)
    assert [str(version) for version in ordered] == ["1-0-9", "1-0-10", "1-2-0", "1-10-0", "2-0-9", "2-0-10"]


@pytest.mark.parametrize(
    "text", ["0-0-0", "1-0", "1-0-0-0", "01-0-0", "1-00-0", "1-0-0\n", " 1-0-0", "1-0-x", "", "١-0-0", "1--0"]
)
def test_a_version_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidName, match="MODEL-REVISION-ADDITION"):
        SchemaVer.parse(text)


def test_a_key_is_read_from_a_uri_and_from_a_path() -> None:
    key = SchemaKey("com.acme", "ad_click", "jsonschema", SchemaVer(1, 0, 2))
    assert SchemaKey.parse("iglu:com.acme/ad_click/jsonschema/1-0-2") == key
    assert SchemaKey.parse("com.acme/ad_click/jsonschema/1-0-2") == key
    assert (key.uri, key.path) == ("iglu:com.acme/ad_click/jsonschema/1-0-2", "com.acme/ad_click/jsonschema/1-0-2")
    assert key.model_key == ModelKey.parse("com.acme/ad_click/jsonschema/1")
    assert key.model_key.at(key.version) == key


@pytest.mark.parametrize(
    "vendor", ["..", ".", "a..b", ".a", "a.", "a/b", "a b", "", "é", "a%00", "a\x00", "a" * 129, "com.acme\n"]
)
def test_a_vendor_cannot_leave_its_folder(vendor: str) -> None:
    with pytest.raises(InvalidName):
        SchemaKey.parse(f"iglu:{vendor}/ad_click/jsonschema/1-0-0")


@pytest.mark.parametrize("name", ["..", ".", "a.b", "a/b", "-rf", "", "a" * 129, "a\n", "é"])
def test_a_name_cannot_leave_its_folder(name: str) -> None:
    for text in (f"com.acme/{name}/jsonschema/1-0-0", f"com.acme/ad_click/{name}/1-0-0"):
        with pytest.raises(InvalidName):
            SchemaKey.parse(text)


def test_all_problems_of_a_key_are_listed_at_once() -> None:
    with pytest.raises(InvalidName) as error:
        ModelKey.parse("../a b/-/0")
    assert [problem.split()[0] for problem in error.value.problems] == ["vendor", "name", "format", "model"]


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("com.acme/ad_click/jsonschema/1", "com_acme_ad_click_1"),
        ("com.acme-corp/adClick/jsonschema/12", "com_acme_corp_ad_click_12"),
        ("com.AcmeCorp/HTTPRequest/jsonschema/2", "com_acmecorp_http_request_2"),
        ("org.w3/Performance-Timing/jsonschema/1", "org_w3_performance_timing_1"),
    ],
)
def test_the_table_of_a_model(key: str, table: str) -> None:
    assert ModelKey.parse(key).table == table


@given(st.text(alphabet="AaBb19-._é", max_size=12))
def test_snake_case_is_the_replacements_of_the_specification(name: str) -> None:
    first = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    second = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", first)
    assert snake(name) == second.replace("-", "_").replace(".", "_").lower()
