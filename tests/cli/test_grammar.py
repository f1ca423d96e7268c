"""The grammar that all commands share: common options, tables, former forms, questions, examples."""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path
from typing import Any

import click
import pytest
from support.cli import Outcome, Run, all_commands

from onefold.cli import cli
from onefold.cli.common_options import COMMON, Defaults, Refused
from onefold.cli.examples import EXAMPLES
from onefold.cli.lab import LabCommand
from onefold.cli.named_tables import NamedTables
from onefold.cli.program import GROUPS
from onefold.cli.table_arguments import named_tables

FRAUD = "sources: {fraud: {host: db, user: u, password: 'env:P', databases: [models, members], tls: {mode: 'off'}}}"
ROWS = '{"table_name": "customer_v_abc", "column_name": "id", "ordinal_position": 1, "data_type": "INT64"}\n'
LEAVES = {name: command for name, command in all_commands() if not isinstance(command, click.Group)}
ASKS = ["access apply", "check", "init", "merge", "policies key", "refresh"]
"""The commands that destroy or rewrite something: docs/reference/exit-codes.md lists them."""


def test_every_command_takes_the_common_options_or_says_that_it_does_not() -> None:
    for name, command in LEAVES.items():
        words = [word for one in command.params for word in one.opts]
        for word in ("--config", "--verbose", "--quiet", *(one.word for one in COMMON)):
            taken = words.count(word) or any(one.name == word[2:] for one in command.params)
            assert taken, (name, word)


@pytest.mark.parametrize("before", [True, False])
def test_an_option_stands_before_or_after_the_command(run: Run, before: bool) -> None:
    command, option = ["render", "customer", "--columns", "-"], ["--dataset", "shop"]
    done = run(*(option + command if before else command + option), stdin=ROWS)
    assert "FROM `shop.customer_v_abc`" in done.out


def rendered(run: Run, *words: str) -> Outcome:
    return run(*words, stdin=ROWS)


def test_after_the_command_wins_over_before_it_and_both_over_a_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASET", "a")
    command = ("render", "customer", "--columns", "-")
    assert "`a.customer_v_abc`" in rendered(run, *command).out
    assert "`b.customer_v_abc`" in rendered(run, "--dataset", "b", *command).out
    assert "`c.customer_v_abc`" in rendered(run, "--dataset", "b", *command, "--dataset", "c").out


def test_json_may_stand_before_the_command_or_in_a_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("render", "customer", "--columns", "-")
    assert rendered(run, "--json", *command).json["command"] == "render"
    monkeypatch.setenv("ONEFOLD_JSON", "1")
    assert rendered(run, *command).json["command"] == "render"


@pytest.mark.parametrize(
    "words", [("schema", "lint", ".", "--dataset", "shop"), ("--dataset", "shop", "schema", "lint", ".")]
)
def test_a_common_option_without_a_use_is_refused_where_it_is_typed(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert (refused.code, "onefold schema lint takes no --dataset" in refused.err) == (1, True)


def test_a_variable_without_a_use_is_ignored(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_DATASET", "shop")
    assert "takes no" not in run("schema", "lint", ".").err


@pytest.mark.parametrize("name", ["ONEFOLD_JSON", "ONEFOLD_QUIET", "ONEFOLD_VERBOSE"])
def test_a_wrong_variable_is_named_in_the_error(run: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "maybe")
    refused = run("schema", "lint", ".")
    assert (refused.code, f"Error: {name}=maybe: expected 1 or 0" in refused.err) == (1, True)


@pytest.mark.parametrize("before", [True, False])
def test_a_file_of_settings_has_to_exist_wherever_it_is_named(run: Run, before: bool) -> None:
    command, option = ["schema", "lint", "."], ["--config", "new.yaml"]
    refused = run(*(option + command if before else command + option))
    assert (refused.code, "File 'new.yaml' does not exist" in refused.err) == (1, True)


def test_a_variable_is_no_value_of_an_option_that_means_something_else() -> None:
    variables = Defaults(cli, {}, {"source": "fraud"})
    assert [variables[name].get("source") for name in ("check", "demo")] == ["fraud", None]


def test_two_databases_of_a_typed_source_are_no_former_form(run: Run) -> None:
    Path("onefold.yaml").write_text(FRAUD)
    for words in (["models", "members.t"], []):  # without a word, all databases of the source
        refused = run("check", "--source", "fraud", *words, "--json")
        assert (refused.code, refused.results) == (1, [])
        assert refused.err.count("ONEFOLD_PULLED_FILES is not set") == 2, refused.err
    Path("onefold.yaml").write_text(FRAUD.replace("models, members", ""))
    assert "sources.fraud of onefold.yaml has no `databases`" in run("check", "--source", "fraud").err


def test_a_typed_choice_of_output_wins_over_a_variable(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_QUIET", "1")
    assert "Traceback" in run("render", "customer", "--columns", "-", "--verbose", stdin="[{}]").err


@pytest.mark.parametrize(
    ("words", "dataset", "expected"),
    [
        (["`shop`.`customer`"], None, NamedTables("shop", "customer")),
        (["my-project.shop.customer"], None, NamedTables("shop", "customer", project="my-project")),
        (["`my-project.shop.order_*`"], "crm", NamedTables("shop", match="order_*", project="my-project")),
        (["my-project:shop.customer"], None, NamedTables("shop", "customer", project="my-project")),
        (["example.com:my-project.shop.customer"], None, NamedTables("shop", "customer", project="example.com:my-project")),
        (["shop.customer"], None, NamedTables("shop", "customer")),
        (["shop.order_*"], None, NamedTables("shop", match="order_*")),
        (["shop.*"], "crm", NamedTables("shop", match="*")),
        (["customer"], "shop", NamedTables("shop", "customer")),
        (["order_[12]"], "shop", NamedTables("shop", match="order_[12]")),
        ([], "shop", NamedTables("shop")),
        (["shop"], None, NamedTables("shop")),
        (["shop", "customer"], None, NamedTables("shop", "customer")),
    ],
)
def test_tables_are_named_in_these_ways(words: list[str], dataset: str | None, expected: NamedTables) -> None:
    assert named_tables(words, dataset) == (expected,)


@pytest.mark.parametrize(
    ("words", "dataset", "expected"),
    [
        (["shop.customer", "crm.order_*"], None, ["shop.customer", "crm.order_*"]),
        (["customer", "crm.order"], "shop", ["shop.customer", "crm.order"]),
        (["a", "b", "c"], "shop", ["shop.a", "shop.b", "shop.c"]),
        (["order_*", "customer"], "shop", ["shop.order_*", "shop.customer"]),
        (["shop.a", "shop.b", "shop.a"], None, ["shop.a", "shop.b"]),
    ],
)
def test_several_tables_are_named_one_after_the_other(words: list[str], dataset: str | None, expected: list[str]) -> None:
    found = named_tables(words, dataset)
    assert ([one.text for one in found], {one.among_others for one in found}) == (expected, {True})


def test_two_names_without_a_dot_are_two_tables_of_a_typed_dataset() -> None:
    assert [one.text for one in named_tables(["customer", "order"], "shop", of_dataset=True)] == [
        "shop.customer",
        "shop.order",
    ]


@pytest.mark.parametrize("before", [True, False])
def test_a_typed_dataset_is_typed_before_the_command_as_well(
    run: Run, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    monkeypatch.setenv("ONEFOLD_PROJECT", "INVALID")  # so that nothing is asked of any project
    command, option = ["plan", "customer", "order"], ["--dataset", "shop"]
    assert "former form" not in run(*(option + command if before else command + option)).err
    monkeypatch.setenv("ONEFOLD_DATASET", "shop")
    assert "former form" in run(*command).err


@pytest.mark.parametrize("command", ["plan", "refresh", "merge", "current", "tables", "publish"])
def test_a_table_of_another_project_than_the_typed_one_is_refused(run: Run, command: str) -> None:
    version = ["abc"] if command == "publish" else []
    refused = run(command, "other-project.shop.customer", *version, "--project", "my-project")
    assert refused.code == 1
    assert "other-project.shop.customer is in another project than --project my-project" in " ".join(refused.err.split())


def test_the_project_of_a_table_is_that_in_front_of_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEFOLD_PROJECT", "my-project")
    shown = run("--json", "publish", "other-project.shop.customer", "abc", "--dry-run").result
    assert shown["message"]["dataset"] == "shop"
    made = rendered(run, "render", "`other-project.shop.customer`", "--columns", "-", "--ddl").out
    assert "`other-project.shop.customer_unified`" in made


@pytest.mark.parametrize(
    "words",
    [
        ("refresh", "shop.", "--dry-run"),
        ("plan", "shop."),
        ("--dataset", "shop", "plan", ""),
        ("check", "--source", "x", "shop."),
    ],
)
def test_an_empty_name_is_never_all_tables(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert (refused.code, "No table is named behind shop" in refused.err) == (1, True)


@pytest.mark.parametrize(
    ("former", "new"),
    [
        (("plan", "shop", "customer"), "onefold plan shop.customer"),
        (("plan", "shop"), "onefold plan --dataset shop"),
        (("merge", "shop", "--match", "a*"), "onefold merge 'shop.a*'"),
        (("merge", "shop.a", "--show"), "--show is now --dry-run"),
        (("publish", "shop.a", "b", "--to", "x"), "--to is now --function"),
        (("schema", "ddl", "m", "--to=redshift"), "--to is now --target"),
        (("check", "fraud", "models", "scores"), "onefold check --source fraud models.scores"),
    ],
)
def test_a_former_form_works_and_says_the_new_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, former: tuple[str, ...], new: str
) -> None:
    monkeypatch.setenv("ONEFOLD_PROJECT", "INVALID")  # so that nothing is asked of any project
    done = run(*former)
    assert done.code == 1
    assert new in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (("plann",), "'plan'"),
        (("plan", "--jsn"), "--json"),
        (("capture", "statu"), "'status'"),
        (("schema", "key", "creat"), "'create'"),
    ],
)
def test_what_is_mistyped_gets_the_near_name(run: Run, words: tuple[str, ...], near: str) -> None:
    done = run(*words)
    assert (done.code, near in done.err) == (1, True)


def test_these_commands_ask_before_they_destroy_or_rewrite() -> None:
    assert sorted(name for name, one in LEAVES.items() if any("--yes" in option.opts for option in one.params)) == ASKS
    page = (Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md").read_text()
    assert all(f"`onefold {name}`" in page.partition("## Questions")[2] for name in ASKS)


def test_every_command_is_in_one_group_of_the_help() -> None:
    names = [name for group in GROUPS.values() for name in group]
    assert sorted(names) == sorted(cli.commands)


def test_an_option_has_one_meaning_in_all_commands() -> None:
    """Values are told by their names: an option that takes a table here and a number there would have two meanings."""
    metavars: dict[str, set[Any]] = defaultdict(set)
    for command in LEAVES.values():
        for one in command.params:
            if isinstance(one, click.Option) and not isinstance(one, Refused) and not one.hidden:
                for word in one.opts:
                    metavars[word].add("flag" if one.is_flag else one.metavar or one.type.name)
    several = {word: found for word, found in metavars.items() if len(found) > 1}
    assert set(several) <= set(TWO_MEANINGS), several


TWO_MEANINGS = {
    "--output": "`export` writes files into a folder of people; `compare` makes a new file or table",
    "--since": "`load-shredded` begins at a run, whose name is a time; `changes` at any time",
    "--source": "`demo --source` takes the address of one's own database, since there is no onefold.yaml yet",
    "--table": "`batch` has --dataset beside it, as the job that it starts; `schema adopt` is about a model",
}
"""Options with another form of value, and why."""


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_two_examples_that_are_parsed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for file in ("click.json", "schemas", "a.csv", "b.csv", "truth.jsonl", "p", "used.txt"):
        Path(file).write_text("")
    Path("work").mkdir()
    first, second = EXAMPLES[name]
    assert first != second
    for example in (first, second):
        program, *words = shlex.split(example)
        assert program == "onefold"
        parse(cli, words, name)


def parse(command: click.Command, words: list[str], name: str) -> None:
    """Parse the words of a command line down to its command, and run nothing."""
    parent: click.Context | None = None
    for part in ["onefold", *name.split()]:
        command = command.command if isinstance(command, LabCommand) else command
        if parent is not None:
            assert isinstance(command, click.Group)
            assert words.pop(0) == part
            command = command.commands[part]
        if part == name.split()[-1] and parent is not None:
            command.make_context(part, list(words), parent)
            return
        parent = click.Context(command, info_name=part, parent=parent)
