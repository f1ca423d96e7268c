"""Each command either changes nothing, or has `--dry-run`, which says what the command would do and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from support.cli import Run, all_commands
from support.registries import history

PRINTS = "it prints what it read, and writes nothing"
OWN_FILE = "it writes only what --output or --out names, which must not exist"
LAB = "it works on a stack of this machine, whose data are nobody's"
WITHOUT_DRY_RUN = {
    **dict.fromkeys(
        [
            "access import", "access plan", "bad-rows summary", "capture status", "changes list", "cost", "doctor", "plan",
            "policies check",
            "policies init", "query", "render", "schema adopt", "schema ddl", "schema diff", "schema lint", "schema list",
            "schema migrations", "schema show", "sources check", "sources init", "tables",
        ],
        PRINTS,
    ),
    "compare": OWN_FILE,
    "discover": OWN_FILE,
    "workload": OWN_FILE,
    "changes readers": "without --collect it is the look",
    "schema serve": "it serves until it is stopped, and adds only what others send",
    "settings check": "without --write it is the look",
    "demo": LAB,
}  # fmt: skip
"""The commands without `--dry-run`, and why."""
INIT = ("init", "--project", "my-project", "--region", "europe-west1", "--rows-from", "capture", "--dataset", "shop")


def test_each_command_that_writes_has_a_dry_run() -> None:
    commands = {name: one for name, one in all_commands() if not isinstance(one, click.Group) or one.invoke_without_command}
    without = {name for name, one in commands.items() if not any("--dry-run" in option.opts for option in one.params)}
    without = {name for name in without if not name.startswith("local ")}  # as `demo`
    assert sorted(without) == sorted(WITHOUT_DRY_RUN), "add --dry-run, or a line above that says why there is none"


def content(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_init_shows_both_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "onefold.yaml").write_text("# mine\n")
    shown = run(*INIT, "--dry-run")
    assert (shown.code, "--- onefold.tfvars\n" in shown.out, "would write onefold.yaml" in shown.out) == (0, True, True)
    assert run(*INIT, "--dry-run", "--json").result["files"] == ["onefold.yaml", "onefold.tfvars"]
    assert content(tmp_path) == {"onefold.yaml": b"# mine\n"}


@pytest.fixture
def schemas(tmp_path: Path) -> Path:
    """A folder with three versions of a schema, each of which needs the one before it."""
    folder = tmp_path / "new"
    folder.mkdir()
    for number, one in enumerate(history()):
        (folder / f"{number}.json").write_text(json.dumps(one.json))
    return folder


def test_schemas_are_checked_in_their_order_as_if_they_were_added(run: Run, schemas: Path, tmp_path: Path) -> None:
    before = content(tmp_path)
    words = ("schema", "add", schemas, "--registry", tmp_path / "registry")
    shown = run(*words, "--dry-run")
    assert (shown.code, [line.rpartition(" ")[0] for line in shown.out.splitlines()]) == (0, ["would be added"] * 3)
    assert [one["outcome"] for one in run(*words, "--dry-run", "--json").results] == ["added"] * 3
    (schemas / "1.json").unlink()
    (schemas / "2.json").write_text("{")
    assert run(*words, "--dry-run").code == 1
    assert content(tmp_path).keys() < before.keys()


def test_a_copy_of_a_registry_is_not_written(run: Run, schemas: Path, tmp_path: Path) -> None:
    registry, copy = tmp_path / "registry", tmp_path / "copy"
    run("schema", "add", schemas, "--registry", registry)
    before = content(tmp_path)
    shown = run("schema", "export", "--registry", registry, "--into", copy, "--dry-run")
    assert (shown.code, shown.out) == (0, f"{copy}: 3 schemas and {copy}/schemas/index.json would be written\n")
    assert content(tmp_path) == before


def test_a_key_of_a_registry_is_neither_shown_nor_stored(run: Run, tmp_path: Path) -> None:
    words = ("schema", "key", "create", "--name", "ci", "--vendor", "com.acme", "--file", "keys.json")
    shown = run(*words, "--dry-run")
    assert (shown.code, "would make a key" in shown.out, shown.err) == (0, True, "")
    assert run(*words, "--dry-run", "--json").result["key"] == ""
    assert content(tmp_path) == {}
    assert run(*words).code == 0
    refused = run(*words, "--dry-run")
    assert (refused.code, "ci" in refused.err) == (1, True)
