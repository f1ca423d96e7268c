"""`onefold schema add` and `lint`: which change a number may claim, and remedies that hold for all reasons at once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cli import Run
from support.registries import document, schema

from onefold.events.registry.index import Index

TEXT, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}


def array(*types: str) -> dict[str, Any]:
    return {"type": "array", "items": {"type": types[0] if len(types) == 1 else list(types)}}


def write(folder: Path, *documents: dict[str, Any]) -> list[Path]:
    folder.mkdir(exist_ok=True)
    files = [folder / f"{number}.json" for number in range(len(documents))]
    for file, content in zip(files, documents, strict=True):
        file.write_text(json.dumps(content))
    return files


ITEMS = [
    (array("string"), array("string", "null"), "2-0-0", "an item that is null becomes the text null"),
    (array("string"), {"type": "array"}, "2-0-0", "an item that is null becomes the text null"),
    (array("string"), array("string", "integer"), "1-1-0", "1 and the text 1 become the same text"),
    (
        array("integer"),
        array("number"),
        "2-0-0",
        "in BigQuery the column tags is ARRAY<INT64> and cannot hold ARRAY<FLOAT64>",
    ),
    (array("integer"), array("integer", "null"), "2-0-0", "cannot hold ARRAY<STRING>"),
]


@pytest.mark.parametrize(("old", "new", "number", "reason"), ITEMS)
def test_items_of_another_type_are_no_addition_where_bigquery_gets_the_data(
    run: Run, tmp_path: Path, old: dict[str, Any], new: dict[str, Any], number: str, reason: str
) -> None:
    first, later, right = write(
        tmp_path / "new", document(tags=old), document("1-0-1", tags=new), document(number, tags=new)
    )
    registry = tmp_path / "registry"
    assert run("schema", "add", first, "--registry", registry).code == 0
    refused = run("schema", "add", later, "--registry", registry)
    assert refused.code == 1
    assert reason in refused.err
    assert "/properties/tags: " in refused.err
    assert f"add it as {number}, or " in refused.err
    assert run("schema", "add", right, "--registry", registry).code == 0


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, new, *_ in ITEMS])
def test_items_of_another_type_are_an_addition_where_redshift_alone_gets_the_data(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: dict[str, Any], new: dict[str, Any]
) -> None:
    monkeypatch.setenv("ONEFOLD_REGISTRY_WAREHOUSES", "redshift")
    files = write(tmp_path / "new", document(tags=old), document("1-0-1", tags=new))
    assert run("schema", "add", *files, "--registry", tmp_path / "registry").code == 0


def test_a_wider_integer_is_an_addition_where_bigquery_alone_gets_the_data(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, large = ({"type": "integer", "maximum": most} for most in (5, 40_000))
    files = write(tmp_path / "new", document(size=small), document("1-0-1", size=large))
    assert "cannot hold INT" in run("schema", "add", *files, "--registry", tmp_path / "both").err
    monkeypatch.setenv("ONEFOLD_REGISTRY_WAREHOUSES", "bigquery")
    assert run("schema", "add", *files, "--registry", tmp_path / "one").code == 0
    optional = write(
        tmp_path / "other",
        *(
            {**document(f"1-0-{number}", size=one), "required": required}
            for number, one, required in ((0, small, ["size"]), (1, large, ["id"]))
        ),
    )
    refused = run("schema", "add", *optional, "--registry", tmp_path / "two")
    assert "the column size may be NULL now" in refused.err


def test_what_was_accepted_before_goes_on_and_may_be_added_to(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONEFOLD_REGISTRY_WAREHOUSES", "redshift")
    mixed = array("string", "null")
    files = write(
        tmp_path / "new",
        document(tags=array("string")),
        document("1-0-1", tags=mixed),
        document("1-0-2", tags=mixed, more=TEXT),
    )
    assert run("schema", "add", *files[:2], "--registry", tmp_path / "registry").code == 0
    monkeypatch.delenv("ONEFOLD_REGISTRY_WAREHOUSES")
    assert run("schema", "add", files[1], "--registry", tmp_path / "registry").out.startswith("unchanged")
    assert run("schema", "add", files[2], "--registry", tmp_path / "registry").code == 0
    model = "com.acme/ad_click/jsonschema/1"
    table = run("schema", "ddl", model, "--target", "bigquery", "--registry", tmp_path / "registry")
    assert "recovered" not in table.out
    assert "`more` STRING" in table.out


def test_lint_and_diff_judge_by_the_same_warehouses(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "schemas" / "com.acme" / "ad_click" / "jsonschema"
    folder.mkdir(parents=True)
    for number, items in enumerate((array("integer"), array("number"))):
        (folder / f"1-0-{number}").write_text(json.dumps(document(f"1-0-{number}", tags=items)))
    words = ("schema", "diff", "com.acme/ad_click/jsonschema/1", "--from", "1-0-0", "--to", "1-0-1", "--registry", tmp_path)
    assert run(*words, "--json").result["class"] == "MODEL"
    assert "cannot hold ARRAY<FLOAT64>" in run("schema", "lint", tmp_path).out + run("schema", "lint", tmp_path).err
    monkeypatch.setenv("ONEFOLD_REGISTRY_WAREHOUSES", "redshift")
    assert run(*words, "--json").result["class"] == "ADDITION"
    assert run("schema", "lint", tmp_path).code == 0


def test_a_warehouse_that_does_not_exist_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_REGISTRY_WAREHOUSES", "bigquery, snowflake")
    (file,) = write(tmp_path / "new", document())
    done = run("schema", "add", file, "--registry", tmp_path / "registry")
    assert (done.code, "snowflake" in done.err and "expected bigquery or redshift" in done.err) == (1, True)


def test_all_reasons_of_a_change_name_one_number_and_that_one_is_accepted(run: Run, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    known = write(tmp_path / "known", document(), document("1-1-0"), document("2-0-0"))
    assert run("schema", "add", *known, "--registry", registry).code == 0
    # One property gets another type, another one becomes required: for each alone there would be another number.
    retyped = {**document("1-0-1", id={"type": "string"}), "required": ["größe"]}
    required = {**document("1-0-1"), "required": ["größe"]}
    for content, number, reasons in ((retyped, "3-0-0", 3), (required, "1-2-0", 1)):
        (file,) = write(tmp_path / "new", content)
        refused = run("schema", "add", file, "--registry", registry)
        named = re.findall(r"add it as ([0-9]+-[0-9]+-[0-9]+)", refused.err)
        assert named == [number] * reasons
        (file,) = write(tmp_path / "new", {**content, "self": {**content["self"], "version": number}})
        assert run("schema", "add", file, "--registry", registry).code == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [(("com.atk", "AdClick"), ("com.atk", "ad_click")), (("com.acme", "ad_click"), ("com.acme.ad", "click"))],
)
def test_a_schema_with_the_name_of_another_one_is_refused_and_both_are_named(
    run: Run, tmp_path: Path, first: tuple[str, str], second: tuple[str, str]
) -> None:
    (vendor, name), (other, twin) = first, second
    one, same, later = write(
        tmp_path / "new", document(vendor=vendor, name=name), document(vendor=other, name=twin),
        document("1-0-1", vendor=vendor, name=name),
    )  # fmt: skip
    registry = tmp_path / "registry"
    assert run("schema", "add", one, "--registry", registry).code == 0
    refused = run("schema", "add", same, "--registry", registry)
    assert refused.code == 1
    assert f"{other}/{twin}/jsonschema and {vendor}/{name}/jsonschema have the same name of tables" in refused.err
    assert run("schema", "add", later, "--registry", registry).code == 0


def test_a_pair_that_exists_goes_on_and_has_tables_of_its_own(run: Run, tmp_path: Path) -> None:
    twins = [schema(vendor="com.atk", name=name) for name in ("ad_click", "AdClick")]
    index = Index()
    for one in twins:
        index = index.with_schema(one, "2026-11-23T00:00:00Z")
        file = tmp_path / "schemas" / one.key.path
        file.parent.mkdir(parents=True)
        file.write_text(one.canonical)
    (tmp_path / "schemas" / "index.json").write_bytes(index.to_json())
    assert run("schema", "lint", tmp_path).code == 0
    (later,) = write(tmp_path / "new", document("1-0-1", vendor="com.atk", name="AdClick", more=TEXT))
    assert run("schema", "add", later, "--registry", tmp_path).code == 0
    words = ("--registry", tmp_path, "--json", "--to", "redshift")
    names = [
        json.loads(run("schema", "ddl", f"com.atk/{name}/jsonschema/1", *words).out)["table"]
        for name in ("ad_click", "AdClick")
    ]
    assert names[0] == "com_atk_ad_click_1"
    assert names[1].startswith("com_atk_ad_click_")
    assert names[1] != names[0]
