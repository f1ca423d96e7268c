"""The commands `schema lint`, `ddl`, `migrations` and `diff` on a registry in a folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import Run
from support.schemas import fields

MODEL = "com.acme/ad_click/jsonschema/1"
FOLDER = Path("schemas/com.acme/ad_click/jsonschema")
NESTED = fields(bar="string")


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    write(tmp_path, "1-0-0", fields(["id"], id={"type": "integer", "maximum": 5}, foo=NESTED))
    write(tmp_path, "1-0-1", fields(["id"], id={"type": "integer", "maximum": 5}, foo=NESTED, größe="number"))
    return tmp_path


def write(registry: Path, version: str, schema: dict[str, Any], name: str = "ad_click") -> Path:
    own = {"vendor": "com.acme", "name": name, "format": "jsonschema", "version": version}
    path = registry / "schemas" / "com.acme" / name / "jsonschema" / version
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"self": own, **schema}))
    return path


def index(registry: Path, order: list[str]) -> None:
    """Write the index of a registry: the digest of a schema is that of its JSON in one line, with sorted keys."""
    entries = []
    for version in order:
        schema = json.loads((registry / FOLDER / version).read_text())
        text = json.dumps(schema, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()
        key = f"com.acme/ad_click/jsonschema/{version}"
        entries.append({"key": key, "sha256": digest, "added": "2026-11-22T14:00:00Z"})
    (registry / "schemas" / "index.json").write_text(json.dumps({"form": 1, "schemas": entries}))


def column(name: str, type_: str, nullable: bool, since: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": nullable, "since": since}


def test_ddl_prints_the_table_for_programs(run: Run, registry: Path) -> None:
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift", "--json")
    assert done.code == 0
    assert done.json == {
        "table": "com_acme_ad_click_1",
        "columns": [
            column("id", "SMALLINT", False, "1-0-0"), column("foo.bar", "VARCHAR(4096)", True, "1-0-0"),
            column("größe", "DOUBLE PRECISION", True, "1-0-1"),
        ],
    }  # fmt: skip
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "bigquery", "--json")
    assert done.json == {
        "table": "com_acme_ad_click_1",
        "columns": [
            column("id", "INT64", False, "1-0-0"), column("foo", "STRUCT<bar STRING>", True, "1-0-0"),
            column("größe", "FLOAT64", True, "1-0-1"),
        ],
    }  # fmt: skip


def test_ddl_prints_statements(run: Run, registry: Path) -> None:
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift", "--dataset", "atomic")
    assert done.out.startswith('CREATE TABLE IF NOT EXISTS "atomic"."com_acme_ad_click_1" (\n')
    assert done.out.endswith("IS 'iglu:com.acme/ad_click/jsonschema/1-0-1';\n")
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "bigquery", "--dataset", "atomic")
    assert done.out.startswith("CREATE TABLE IF NOT EXISTS `atomic.com_acme_ad_click_1` (\n")
    assert run("schema", "ddl", MODEL, "--registry", registry, "--target", "bigquery", "--dataset", "a`b").code == 1


def test_an_order_that_is_not_certain_has_to_be_given(run: Run, registry: Path) -> None:
    write(registry, "1-1-0", fields(id={"type": "integer", "maximum": 5}, foo=NESTED, z="string"))
    arguments = ["schema", "ddl", MODEL, "--registry", registry, "--target", "redshift", "--json"]
    refused = run(*arguments)
    assert (refused.code, refused.json["command"], refused.results) == (1, "schema ddl", [])
    assert "--order 1-0-0,1-0-1,1-1-0" in refused.json["errors"][0]
    names = [
        [one["name"] for one in run(*arguments, "--order", order).json["columns"]]
        for order in ("1-0-0,1-0-1,1-1-0", "1-0-0,1-1-0,1-0-1")
    ]
    assert names == [["id", "foo.bar", "größe", "z"], ["id", "foo.bar", "z", "größe"]]
    wrong = run(*arguments, "--order", "1-0-0,1-0-0,2-0-0")
    assert wrong.err.count("Error:") == 4
    assert all(word in wrong.err for word in ("has 2-0-0", "lacks 1-0-1", "lacks 1-1-0", "has 1-0-0 twice"))


def test_the_index_has_the_order_of_addition(run: Run, registry: Path) -> None:
    write(registry, "1-1-0", fields(id={"type": "integer", "maximum": 5}, foo=NESTED, z="string"))
    order = ["1-0-0", "1-1-0", "1-0-1"]
    index(registry, order)
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift", "--json")
    assert [one["name"] for one in done.json["columns"]] == ["id", "foo.bar", "z", "größe"]
    (registry / FOLDER / "1-0-1").unlink()
    write(registry, "1-2-0", fields())
    broken = run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift")
    assert "1-0-1 is in the index, and has no file" in broken.err
    assert "1-2-0 is not in the index" in broken.err


def test_a_version_that_does_not_fit_has_a_table_of_its_own(run: Run, registry: Path) -> None:
    write(registry, "1-0-2", fields(id="string"))
    done = run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift")
    assert done.out.count("CREATE TABLE") == 2
    assert "Warning: the data of 1-0-2 does not fit, and has the table com_acme_ad_click_1_0_2_recovered_" in done.err


def test_migrations_print_statements(run: Run, registry: Path) -> None:
    write(registry, "1-0-2", fields(id={"type": "integer", "maximum": 5}, foo=fields(bar="string", baz="boolean")))
    arguments = ["schema", "migrations", MODEL, "--registry", registry, "--from", "1-0-0", "--to", "1-0-2"]
    table = 'ALTER TABLE "com_acme_ad_click_1" ADD COLUMN'
    assert run(*arguments).out.splitlines() == [
        "BEGIN;", f'{table} "größe" DOUBLE PRECISION ENCODE ZSTD;', f'{table} "foo.baz" BOOLEAN ENCODE ZSTD;',
        "COMMENT ON TABLE \"com_acme_ad_click_1\" IS 'iglu:com.acme/ad_click/jsonschema/1-0-2';", "COMMIT;",
    ]  # fmt: skip
    done = run(*arguments, "--target", "bigquery", "--json").result
    assert [change["kind"] for change in done["changes"]] == ["added", "added", "made nullable"]
    assert [text.split("\n")[0][:27] for text in done["statements"]] == [
        "-- com_acme_ad_click_1: foo", "ALTER TABLE `com_acme_ad_cl", "ALTER TABLE `com_acme_ad_cl",
    ]  # fmt: skip
    reversed_ = run("schema", "migrations", MODEL, "--registry", registry, "--from", "1-0-2", "--to", "1-0-0")
    assert "exchange --from and --to" in reversed_.err
    nothing = run("schema", "migrations", MODEL, "--registry", registry, "--from", "1-0-2", "--to", "1-0-2")
    assert (nothing.code, nothing.out) == (0, "")


def test_diff_explains_a_change(run: Run, registry: Path) -> None:
    write(registry, "1-0-2", fields(id={"type": "integer", "maximum": 4}, foo=NESTED, größe="number"))
    arguments = ["schema", "diff", MODEL, "--registry", registry, "--from"]
    done = run(*arguments, "1-0-1", "--to", "1-0-2", "--json")
    assert done.code == 2
    assert done.result["class"] == "REVISION"
    assert {reason["path"] for reason in done.result["reasons"]} == {"/properties/id", "/properties/id/maximum"}
    assert [(change["kind"], change["severity"]) for change in done.result["changes"]] == [("made nullable", "WARNING")]
    shown = run(*arguments, "1-0-0", "--to", "1-0-1")
    assert "1-0-0 -> 1-0-1 is ADDITION" in shown.out
    assert "INFO" in shown.out
    assert run(*arguments, "1-0-0", "--to", "1-0-0").code == 0


def test_what_a_registry_does_not_have_is_named(run: Run, registry: Path) -> None:
    missing = run("schema", "ddl", "com.acme/ad_click/jsonschema/2", "--registry", registry, "--target", "redshift")
    assert missing.code == 1
    assert "did you mean com.acme/ad_click/jsonschema/1?" in missing.err
    version = run("schema", "diff", MODEL, "--registry", registry, "--from", "1-0-0", "--to", "1-0-9")
    assert "it has 1-0-0, 1-0-1" in version.err
    (registry / "empty").mkdir()
    assert "has no files" in run("schema", "lint", registry / "empty").err
    assert "vendor" in run("schema", "ddl", "../x/y/1", "--registry", registry, "--target", "redshift").err


def test_lint_takes_the_files_that_add_takes_wherever_they_are(run: Run, registry: Path) -> None:
    files = registry / "my-schemas"
    files.mkdir()
    for version in ("1-0-0", "1-0-1"):
        (registry / FOLDER / version).rename(files / f"{version}.json")
    assert run("schema", "lint", files).out == "2 schemas checked, 0 problems\n"
    assert run("schema", "add", files, "--registry", registry / "new").code == 0
    (files / "1-0-0.json").unlink()
    (files / "broken.json").write_text("{")
    found = run("schema", "lint", files, "--json")
    gap, broken = sorted(found.result["problems"], key=lambda one: "broken.json" in one)
    assert (found.code, "schemas/com.acme/ad_click/jsonschema/1-0-1: " in gap, broken[:13]) == (2, True, "broken.json: ")


def test_a_file_that_is_not_valid_stops_its_own_model_only(run: Run, registry: Path) -> None:
    write(registry, "1-0-0", {"type": "strin"}, name="broken")
    write(registry, "2-0-0", {"type": "strin"})
    assert run("schema", "ddl", MODEL, "--registry", registry, "--target", "redshift").code == 0
    done = run("schema", "ddl", "com.acme/ad_click/jsonschema/2", "--registry", registry, "--target", "redshift")
    assert "schemas/com.acme/ad_click/jsonschema/2-0-0: /type: " in done.err


def test_lint_takes_a_good_folder(run: Run, registry: Path) -> None:
    (registry / "schemas" / ".DS_Store").write_text("")
    (registry / FOLDER / ".1-0-0.swp").write_text("")
    done = run("schema", "lint", registry)
    assert (done.code, done.out) == (0, "2 schemas checked, 0 problems\n")
    assert run("schema", "lint", registry, "--json").result == {
        "folder": str(registry), "checked": 2, "problems": [],
    }  # fmt: skip


def test_lint_lists_all_problems_with_their_files(run: Run, registry: Path) -> None:
    write(registry, "1-0-2", fields(id="string"))
    write(registry, "1-0-0", fields(a={"pattern": "(?=a)"}, b={"minLength": -1}), name="broken")
    write(registry, "1-0-5", fields(), name="gap")
    write(registry, "1-0-0", fields(), name="adClick")
    (registry / FOLDER.parent.parent / "moved" / "jsonschema").mkdir(parents=True)
    write(registry, "1-0-0", fields(), name="here").rename(registry / FOLDER.parent.parent / "moved/jsonschema/1-0-0")
    done = run("schema", "lint", registry, "--json")
    assert done.code == 2
    assert done.result["checked"] == 7
    expected = {
        "schemas/com.acme/ad_click/jsonschema/1-0-2: /properties/id: the column id is SMALLINT and cannot hold VARCHAR",
        "schemas/com.acme/broken/jsonschema/1-0-0: /properties/b/minLength: ",
        "schemas/com.acme/gap/jsonschema/1-0-5: /self/version: 1-0-5 is not the first version: use 1-0-0",
        "schemas/com.acme/moved/jsonschema/1-0-0: it describes itself as iglu:com.acme/here/jsonschema/1-0-0",
        "com.acme/adClick/jsonschema and com.acme/ad_click/jsonschema have the same name of tables, com_acme_ad_click: ",
    }
    assert [text for text in expected if not any(problem.startswith(text) for problem in done.result["problems"])] == []


def test_lint_checks_new_files_against_the_index(run: Run, registry: Path) -> None:
    write(registry, "1-1-0", fields(id={"type": "integer", "maximum": 5}, foo=NESTED))
    (registry / FOLDER / "1-0-1").rename(registry / "later")
    index(registry, ["1-0-0", "1-1-0"])
    assert run("schema", "lint", registry).code == 0
    (registry / "later").rename(registry / FOLDER / "1-0-1")
    assert run("schema", "lint", registry).code == 0
    assert "1-0-1 comes before 1-1-0" in run("schema", "lint", registry, "--sequential").err
    (registry / FOLDER / "1-1-0").unlink()
    assert "1-1-0: it is in the index, and has no file" in run("schema", "lint", registry).err


def test_a_schema_that_was_added_must_not_change(run: Run, registry: Path) -> None:
    index(registry, ["1-0-0", "1-0-1"])
    text = (registry / FOLDER / "1-0-1").read_text()
    (registry / FOLDER / "1-0-1").write_text(json.dumps(json.loads(text), indent=2))
    assert run("schema", "lint", registry).code == 0, "layout makes no difference"
    write(registry, "1-0-1", fields(["id"], id={"type": "integer", "maximum": 5}, foo=NESTED, other="number"))
    for code, command in ((2, ("lint", registry)), (1, ("ddl", MODEL, "--registry", registry, "--to", "redshift"))):
        refused = run("schema", *command)
        assert (refused.code, "1-0-1" in refused.err) == (code, True)
        assert "is not the schema that was added: restore it" in refused.err


def test_the_last_schema_that_was_added_is_checked_as_well(run: Run, tmp_path: Path) -> None:
    """Its text is in the index, too; the file alone is what a person edits."""
    file = write(tmp_path / "new", "1-0-0", fields(a="string"))
    assert run("schema", "add", file, "--registry", tmp_path / "registry").code == 0
    assert run("schema", "lint", tmp_path / "registry").code == 0
    (tmp_path / "registry" / FOLDER / "1-0-0").unlink()
    assert run("schema", "lint", tmp_path / "registry").code == 0, "the index has the text of the last one"
    write(tmp_path / "registry", "1-0-0", fields(a="integer"))
    assert "1-0-0: it is not the schema that was added" in run("schema", "lint", tmp_path / "registry").err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "is not the index of a registry"),
        ("[]", "is not the index of a registry"),
        ('{"form": 2, "schemas": []}', "expected an object with form 1"),
        ('{"form": 1, "schemas": [{"key": "x"}, {"key": "a/b/jsonschema/1-0-0"}]}', "schema 2: expected sha256"),
    ],
)
def test_an_index_that_is_not_valid_is_named(run: Run, registry: Path, text: str, told: str) -> None:
    (registry / "schemas" / "index.json").write_text(text)
    for command in (("lint", registry), ("ddl", MODEL, "--registry", registry, "--to", "redshift")):
        refused = run("schema", *command)
        assert (refused.code, "index.json" in refused.err, told in refused.err) == (1, True, True)
