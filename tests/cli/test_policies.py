"""The commands of `onefold policies`, and clean views in `plan` and `refresh`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.changelogs import change
from support.clean_shop import KEY, CleanShop
from support.cli import Run
from support.merge_shop import Shop

from onefold.changelog.metadata import LANDED_AT

CUSTOMER = {
    "id": "INT64",
    "email": "STRING",
    "address": "STRUCT<zip STRING, city STRING>",
    "on": "BOOL",
    LANDED_AT: "TIMESTAMP",
}
UNDECIDED = ["id", "email", "address.zip", "address.city", "on"]


@pytest.fixture
def shop(dataset: EmulatedDataset) -> Shop:
    """A table with one row."""
    shop = Shop(dataset)
    shop.create("a1", CUSTOMER)
    row: dict[str, Any] = {"id": 1, "email": "ada@example.com", "address": {"zip": "1", "city": "c"}, "on": True}
    shop.land("a1", change("INSERT", "1", **row))
    return shop


@pytest.fixture
def clean(dataset: EmulatedDataset, monkeypatch: pytest.MonkeyPatch) -> CleanShop:
    """The datasets of clean views and keys."""
    return CleanShop(dataset, monkeypatch)


def write(folder: Path, *lines: str) -> None:
    (folder / "onefold.yaml").write_text("\n".join(["tables:", "  customer: {keys: [id]}", *lines]))


def policies(dataset: EmulatedDataset, **rules: str) -> list[str]:
    columns = [f'    "{name.replace("__", ".")}": {action}' for name, action in rules.items()]
    return ["policies:", f"  {dataset.name}.customer:", *columns]


@pytest.mark.usefixtures("shop")
def test_draft_is_printed_as_yaml_that_decides_every_column(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    write(tmp_path)
    made = run("policies", "init", f"{dataset.name}.customer")
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("# yaml-language-server: $schema=onefold/settings/onefold.schema.json\n")
    assert made.out.splitlines()[2:] == [
        "policies:",
        f"  {dataset.name}.customer:",
        "    id: clear  # INT64",
        "    email: hash  # e-mail by its name",
        "    address.zip: mask  # place by its name",
        "    address.city: mask  # place by its name",
        '    "on": clear  # BOOL',
    ]
    write(tmp_path, *made.out.splitlines())
    assert run("policies", "check", f"{dataset.name}.customer").code == 0
    assert run("policies", "init", "--dataset", dataset.name, "--json").json["results"][0]["columns"] == []
    assert (
        run("policies", "init", "--dataset", dataset.name).out == "# Every column has a policy: there is nothing to draft.\n"
    )


def test_draft_reads_samples_and_prints_none(run: Run, dataset: EmulatedDataset, shop: Shop, tmp_path: Path) -> None:
    shop.create("b2", {"id": "INT64", "contact": "STRING", LANDED_AT: "TIMESTAMP"})
    shop.land("b2", change("INSERT", "2", id=2, contact="ada@example.com"))
    write(tmp_path)
    assert run("current", f"{dataset.name}.customer").code == 0
    for options, action in (((), "hash"), (("--no-samples",), "mask")):
        made = run("policies", "init", f"{dataset.name}.customer", *options, "--json")
        drafts = {one["column"]: one["action"] for one in made.json["results"][0]["columns"]}
        assert drafts["contact"] == action
        assert "ada@example.com" not in made.out + made.err


@pytest.mark.usefixtures("shop")
def test_check_lists_undecided_columns_and_exits_with_2(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    write(tmp_path)
    assert run("policies", "check", "--dataset", dataset.name, "--json").json["results"] == [
        {"table": f"local.{dataset.name}.customer", "undecided": UNDECIDED}
    ]
    write(tmp_path, *policies(dataset, id="clear", address="mask", on="clear"))
    checked = run("policies", "check", "--dataset", dataset.name)
    assert checked.code == 2
    assert f"local.{dataset.name}.customer: email is masked until a policy names it" in checked.out
    assert "1 column of 1 table to decide" in checked.out


@pytest.mark.usefixtures("shop")
def test_check_warns_of_policies_that_name_nothing(run: Run, dataset: EmulatedDataset, tmp_path: Path) -> None:
    name = dataset.name
    assert "onefold.yaml has no `policies`, so there are no clean views" in run("policies", "check", "--dataset", name).err
    write(
        tmp_path, *policies(dataset, emial="drop", address="mask"), f"  {name}.custmer: {{id: clear}}", '  "*": {"*": clear}'
    )
    column = f"policies.{name}.customer.emial names no column: did you mean email?"
    table = f"policies.{name}.custmer: dataset {name} has no table custmer: did you mean customer?"
    checked = run("policies", "check", "--dataset", name)
    assert (checked.code, checked.err.splitlines()) == (0, [f"Warning: {column}", f"Warning: {table}"])
    assert run("policies", "check", "--dataset", name, "--json").json["warnings"] == [column, table]
    assert run("policies", "check", f"{name}.customer").err == f"Warning: {column}\n"


@pytest.mark.usefixtures("shop")
def test_check_says_which_policy_decides_each_column(
    run: Run, dataset: EmulatedDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    name = dataset.name
    write(tmp_path, *policies(dataset, address="mask", address__zip="clear"), '  "*": {"e*": hash, "*l": clear, "on": drop}')
    shown = run("policies", "check", "--dataset", name, "--verbose")
    assert shown.code == 2
    assert shown.out.splitlines()[:6] == [
        f"local.{name}.customer:",
        "  id: mask, undecided",
        "  email: hash, by policies.*.e*; of equal rank and less strict: policies.*.*l (clear)",
        f"  address.zip: clear, by policies.{name}.customer.address.zip",
        f"  address.city: mask, by policies.{name}.customer.address",
        "  on: drop, by policies.*.on",
    ]
    assert "by policies" not in run("policies", "check", "--dataset", name).out


def test_check_needs_a_table(run: Run, dataset: EmulatedDataset) -> None:
    missing = run("policies", "check", f"{dataset.name}.customer")
    assert (missing.code, missing.out) == (1, "")
    assert "there is no version" in missing.err
    drafted = run("policies", "init", f"{dataset.name}.customer")
    assert (drafted.code, drafted.out) == (1, "")


@pytest.mark.usefixtures("shop")
def test_plan_and_refresh_keep_the_clean_view(run: Run, dataset: EmulatedDataset, clean: CleanShop, tmp_path: Path) -> None:
    write(tmp_path, *policies(dataset, id="clear", email="hash", on="drop"))
    assert run("policies", "key", dataset.name).code == 0
    made = run("refresh", f"{dataset.name}.customer")
    assert (made.code, f"local.{dataset.name}__views_clean.customer created" in made.out) == (0, True)
    ((id_, email, address),) = clean.rows()
    assert (id_, len(email), address) == (1, 64, None)
    planned = run("plan", f"{dataset.name}.customer", "--verbose")
    assert planned.code == 0
    assert "2 columns are masked until a policy names them: address.zip, address.city" in planned.out + planned.err
    write(tmp_path, *policies(dataset, id="clear", email="clear"))
    planned = run("plan", f"{dataset.name}.customer")
    assert (planned.code, "policies │ those of the view │ those of the settings" in planned.out) == (2, True), planned.out
    refused = run("refresh", f"{dataset.name}.customer")
    assert (refused.code, "was written with other policies" in refused.err) == (1, True)
    assert run("refresh", f"{dataset.name}.customer", "--accept-settings").code == 0
    assert clean.rows()[0][1] == "ada@example.com"


@pytest.mark.usefixtures("shop")
def test_key_is_in_no_output_of_plan_and_refresh(
    run: Run, dataset: EmulatedDataset, clean: CleanShop, tmp_path: Path
) -> None:
    clean.write_key()
    write(tmp_path, *policies(dataset, id="clear", email="hash"))
    printed = []
    for command in ("plan", "refresh", "plan"):
        for options in (("--verbose",), ("--json",)):
            made = run(command, dataset.name, "customer", *options)
            assert made.code in (0, 2)
            printed.append(made.out + made.err)
    assert any("customer" in one for one in printed)
    assert not [part for part in (KEY.secret.decode(), KEY.secret.hex(), *KEY.pads) for one in printed if part in one]


def test_key_is_written_and_rotated_and_never_printed(
    run: Run, dataset: EmulatedDataset, clean: CleanShop, tmp_path: Path
) -> None:
    (tmp_path / "key.txt").write_text(KEY.secret.hex())
    planned = run("policies", "key", dataset.name, "--key-file", "key.txt", "--dry-run")
    assert (planned.code, planned.out) == (0, f"{clean.key_table} would get a key\n"), planned.err
    made = run("policies", "key", dataset.name, "--key-file", "key.txt")
    assert (made.code, made.out, made.err) == (0, f"local.{dataset.name}__keys.hash_key has a key\n", "")
    query = f"SELECT ipad, opad FROM {clean.key_table.quoted}"
    assert dataset.run(query) == [KEY.pads]
    again = run("policies", "key", dataset.name)
    assert (again.code, dataset.run(query)) == (1, [KEY.pads])
    assert "has a key: replace it with --rotate" in again.err
    for words, code, told in (
        ((), 1, "which stays: --rotate would"),
        (("--rotate",), 0, "another key, instead of that of 20"),
    ):
        planned = run("policies", "key", dataset.name, "--dry-run", *words)
        assert (planned.code, told in planned.out + planned.err, dataset.run(query)) == (code, True, [KEY.pads])
    rotated = run("policies", "key", dataset.name, "--rotate", "--json")
    assert rotated.json["results"] == [{"table": str(clean.key_table), "rotated": True}]
    ((inner, outer),) = dataset.run(query)
    assert (len(str(inner)), len(str(outer)), inner != KEY.pads[0]) == (128, 128, True)
    for outcome in (made, again, rotated):
        assert not [part for part in (KEY.secret.hex(), *KEY.pads, str(inner)) if part in outcome.out + outcome.err]


def test_key_needs_its_dataset_and_hexadecimal_digits(run: Run, dataset: EmulatedDataset) -> None:
    missing = run("policies", "key", dataset.name)
    assert (missing.code, missing.out) == (1, "")
    assert f"dataset local.{dataset.name}__keys does not exist: create it with the variable clean_views" in missing.err
    assert run("policies", "key", dataset.name, "--rotate", "--yes").err == missing.err
    assert run("policies", "key", dataset.name, "--dry-run").err == missing.err
    assert f"did you mean {dataset.name}?" in run("policies", "key", f"{dataset.name}_").err
    wrong = run("policies", "key", dataset.name, "--key-file", "-", stdin="my secret")
    assert (wrong.code, "expected 64 to 128 hexadecimal digits" in wrong.err, "my secret" in wrong.err) == (1, True, False)
