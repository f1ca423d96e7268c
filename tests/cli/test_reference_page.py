"""The generated parts of docs/reference/cli.md: usage, exit codes and samples. UPDATE_GOLDEN=1 writes them."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from support.bigquery_emulator import EmulatedDataset
from support.cli import Run, all_commands

from onefold.changelog.metadata import LANDED_AT, METADATA
from onefold.cli.program import GROUPS
from onefold.core.names import TableId
from onefold_lab.demo.tour import CUSTOMER, land_version
from onefold_lab.processes import bigquery_emulator
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT, emulator_client

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PAGE = REFERENCE / "cli.md"
# <!-- command: plan -->, with all of the generated part
COMMAND = re.compile(r"^<!-- command: (.+) -->\n\n(?:```text .*\n(?:.*\n)*?```\n\n)?(?:Exit codes: .*\n\n)?", re.MULTILINE)
SAMPLE = re.compile(r"^<!-- sample: (.+) -->\n\n(?:```text\n(?:.*\n)*?```\n\n)?", re.MULTILINE)
CODES = re.compile(r"^\| `onefold (?P<names>.+?)` \| (?P<zero>.*?) \| (?P<one>.*?) \| (?P<two>.*?) ?\|$", re.MULTILINE)
WIDTH = "110"


def usage(name: str, command: click.Command) -> str:
    """The line of the usage, as `--help` prints it, with the options that have to be given."""
    context = click.Context(command, info_name=f"onefold {name}")
    line = " ".join(context.get_usage().removeprefix("Usage: ").split())
    needed = [option for option in command.params if isinstance(option, click.Option) and option.required]
    given = [f"{option.opts[0]} {option.make_metavar(context)}" for option in needed]
    return line.replace("[OPTIONS]", " ".join(["[OPTIONS]", *given]), 1)


def exit_codes(name: str) -> list[tuple[str, str]]:
    """What each exit code of a command means, by the page of exit codes; what is not there has the common meaning."""
    meanings = ["done", "an error, wrong usage included", ""]
    for row in CODES.finditer((REFERENCE / "exit-codes.md").read_text()):
        if name in re.split("`, `onefold |` with ", row["names"]):
            meanings = [row["zero"], row["one"], row["two"]]
    return [(str(code), meaning) for code, meaning in enumerate(meanings) if meaning]


def generated(match: re.Match[str]) -> str:
    name = match[1]
    command = dict(all_commands())[name]
    lines = [f"<!-- command: {name} -->", "", '```text title="usage"', usage(name, command), "```", ""]
    if not isinstance(command, click.Group):
        lines += [f"Exit codes: {'; '.join(f'{code}: {text}' for code, text in exit_codes(name))}.", ""]
    return "\n".join([*lines, ""])


def check_page(wanted: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        PAGE.write_text(wanted)
    assert PAGE.read_text() == wanted, "UPDATE_GOLDEN=1 writes the generated parts of docs/reference/cli.md"


def test_each_command_has_its_usage_and_its_exit_codes() -> None:
    check_page(COMMAND.sub(generated, PAGE.read_text()))


def test_each_command_has_one_section() -> None:
    text = PAGE.read_text()
    described = re.findall(r"^### onefold (.+)\n\n<!-- command: \1 -->$", text, re.MULTILINE)
    known = {
        name for name, command in all_commands() if not isinstance(command, click.Group) or f"### onefold {name}\n" in text
    }
    assert sorted(described) == sorted(known)


def test_the_sections_stand_in_the_groups_and_the_order_of_the_help() -> None:
    page = {}
    for part in PAGE.read_text().split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        page[title] = tuple(dict.fromkeys(name.split()[0] for name in re.findall("^### onefold (.+)$", body, re.MULTILINE)))
    last = page.popitem()
    assert last[0] == "Shell completion"
    assert page == GROUPS
    assert list(page) == list(GROUPS)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An emulator of its own with a dataset `shop` of two tables, and the files that the samples name."""
    with bigquery_emulator() as host:
        monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", host)
        monkeypatch.setenv("ONEFOLD_PROJECT", DEFAULT_PROJECT)
        monkeypatch.setenv("COLUMNS", WIDTH)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        land_tables(EmulatedDataset(host, emulator_client(DEFAULT_PROJECT), "shop"))
        write_files(tmp_path)
        yield


def land_tables(shop: EmulatedDataset) -> None:
    for name in ("shop", "shop__keys"):
        shop.client.create_dataset(name)
    for version in CUSTOMER:
        land_version(shop.client, TableId(DEFAULT_PROJECT, "shop", "customer"), version)
    metadata = "STRUCT<source_timestamp INT64, change_type STRING, change_sequence_number STRING>"
    shop.land(
        "product_v_abc", {"id": "INT64", "name": "STRING", METADATA: metadata, LANDED_AT: "TIMESTAMP"},
        "1, 'pen', STRUCT(1, 'INSERT', '1'), TIMESTAMP '2026-01-01 00:00:00+00'",
        "1, 'red pen', STRUCT(2, 'UPDATE-INSERT', '2'), TIMESTAMP '2026-01-01 00:00:01+00'",
    )  # fmt: skip


def write_files(folder: Path) -> None:
    columns = [
        {"table_name": f"customer_v_{one.version}", "column_name": name, "ordinal_position": number, "data_type": type_}
        for one in CUSTOMER
        for number, (name, type_) in enumerate(one.columns.items(), 1)
    ]
    (folder / "columns.json").write_text(json.dumps(columns))
    (folder / "left.jsonl").write_text('{"id": 1, "name": "Ada"}\n{"id": 2, "name": "Alan"}\n')
    (folder / "right.jsonl").write_text('{"id": 1, "name": "Ada L."}\n{"id": 3, "name": "Grace"}\n')
    for version, properties in (("1-0-0", {"ad": "string"}), ("1-0-1", {"ad": "string", "clicks": "integer"})):
        own = {"vendor": "com.acme", "name": "ad_click", "format": "jsonschema", "version": version}
        types = {name: {"type": type_} for name, type_ in properties.items()}
        text = json.dumps({"self": own, "type": "object", "properties": types, "additionalProperties": False})
        place = folder / "schemas" / "schemas" / "com.acme" / "ad_click" / "jsonschema"
        place.mkdir(parents=True, exist_ok=True)
        (place / version).write_text(text)
        (folder / f"{version}.json").write_text(text)


def normal(text: str) -> str:
    """Return what a command printed without what differs from run to run; the width of a table stays."""
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "2026-11-02 09:30", text)
    return "\n".join(line.rstrip() for line in text.replace("local.shop", "my-project.shop").splitlines())


@pytest.mark.usefixtures("scene")
def test_the_samples_are_what_the_commands_print(run: Run) -> None:
    def sample(match: re.Match[str]) -> str:
        words = shlex.split(match[1])
        assert words[0] == "onefold"
        printed = run(*words[1:])
        assert "Error: No such" not in printed.err, f"{match[1]}: {printed.err}"
        return f"<!-- sample: {match[1]} -->\n\n```text\n$ {match[1]}\n{normal(printed.out + printed.err)}\n```\n\n"

    check_page(SAMPLE.sub(sample, PAGE.read_text()))
