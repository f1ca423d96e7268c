"""A walk over all commands: common options before them and as variables, exit codes, passwords, help."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import pytest
from support.cli import Run, all_commands

from onefold.cli import cli
from onefold.cli.common_options import COMMON, CommonOption, Defaults, used_by

LEAVES = {name: command for name, command in all_commands() if not isinstance(command, click.Group)}
OPTIONS = Path(__file__).parents[2] / "docs" / "reference" / "options.md"
SECRET = re.compile(r"password|secret|token|api-?key|credential")
ROWS = '{"table_name": "customer_v_abc", "column_name": "id", "ordinal_position": 1, "data_type": "INT64"}\n'


def default_of(name: str, command: click.Command, one: CommonOption, **given: Any) -> Any:
    """What a command gets for a common option that stands before it, or in a variable."""
    found: Any = Defaults(cli, {}, {}) if not given else Defaults(cli, given["typed"], given["variables"])
    for part in name.split():
        found = found.get(part)
    option = next(option for option in command.params if one.word in option.opts)
    value = found.get(option.name)
    return value[0] if isinstance(value, tuple) else value


def test_what_stands_before_a_command_is_the_value_of_its_option() -> None:
    for name, command in LEAVES.items():
        for one in used_by(command):
            assert default_of(name, command, one, typed={one.name: "x"}, variables={}) == "x", (name, one.word)
            assert default_of(name, command, one) is None, (name, one.word)


def test_a_variable_is_the_value_of_each_option_of_its_name() -> None:
    """But for the commands whose `--source` is an address."""
    for name, command in LEAVES.items():
        for one in used_by(command):
            if one.variable and not (name in ("demo", "workload", "discover", "audit") and one.word == "--source"):
                assert default_of(name, command, one, typed={}, variables={one.name: "x"}) == "x", (name, one.word)


@pytest.mark.parametrize(
    ("variable", "value", "words", "told"),
    [
        ("ONEFOLD_PROJECT", "A", ("publish", "shop.customer", "abc"), "ONEFOLD_PROJECT"),
        ("GOOGLE_CLOUD_PROJECT", "A", ("publish", "shop.customer", "abc"), "GOOGLE_CLOUD_PROJECT"),
        ("ONEFOLD_DATASET", "a-b", ("plan", "customer"), "dataset 'a-b' is not a valid name"),
        ("ONEFOLD_SOURCE", "ads", ("check", "--rows", "0"), "ads"),
        ("ONEFOLD_CONFIG", "nowhere.yaml", ("plan", "shop.customer"), "there is no file nowhere.yaml"),
        ("ONEFOLD_JSON", "1", ("render", "customer", "--columns", "-"), '"errors": ["'),
        ("ONEFOLD_VERBOSE", "1", ("render", "customer", "--columns", "-"), "Traceback"),
        ("ONEFOLD_QUIET", "1", ("render", "customer", "--columns", "-"), "Error: "),
    ],
)
def test_each_common_option_has_a_variable_which_the_docs_name(
    run: Run, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, words: tuple[str, ...], told: str
) -> None:
    for name in ("ONEFOLD_PROJECT", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, value)
    done = run(*words, stdin="[{}]")
    assert (done.code, told in done.out + done.err) == (1, True), done.err
    assert f"`{variable}`" in OPTIONS.read_text().partition("## All options")[0]


def test_the_docs_have_each_common_option() -> None:
    table = re.findall(r"^\| `(--\w+)` \| `", OPTIONS.read_text().partition("## All options")[0], re.MULTILINE)
    assert sorted(table) == sorted([*(one.word for one in COMMON), "--config", "--quiet", "--verbose"])


@pytest.mark.parametrize("name", LEAVES)
def test_help_ends_with_0_and_wrong_usage_with_1(run: Run, name: str) -> None:
    """And not with 2, as click does: 2 is for findings."""
    assert run(*name.split(), "--help").code == 0
    wrong = run(*name.split(), *["--no-such-option"] * 3)  # the first one may be a query, which begins with a comment
    assert (wrong.code, wrong.out, "--no-such-option" in wrong.err) == (1, "", True)


def test_no_option_takes_a_password() -> None:
    found = {
        (name, max(option.opts, key=len), option.metavar)
        for name, command in LEAVES.items()
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and SECRET.search(" ".join(option.opts))
    }
    assert {(word, metavar) for _, word, metavar in found} == {("--password-from", "REF")}
    assert {"sources init", "schema list", "load-shredded"} <= {name for name, *_ in found}
