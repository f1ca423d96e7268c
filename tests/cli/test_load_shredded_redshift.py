"""`onefold load-shredded --to redshift`: options, output and exit codes, against S3 and Redshift."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.cli import Outcome
from support.redshift_scene import RUNS, RedshiftScene
from support.redshift_server import DATABASE, ROLE, SCHEMA, WORKGROUP

Run = Callable[..., Outcome]
TO = ["load-shredded", "--target", "redshift", "--runs", RUNS, "--database", DATABASE, "--schema", SCHEMA, "--role", ROLE]


def said(outcome: Outcome) -> str:
    return " ".join((outcome.out + outcome.err).split())


def test_runs_are_shown_loaded_and_not_loaded_again(redshift_scene: RedshiftScene, run: Run) -> None:
    redshift_scene.shred(0, "1-0-0", [("id", "INT")], {"id_": "a", "id": 1})
    shown = run(*TO, "--workgroup", WORKGROUP, "--dry-run")
    assert shown.code == 2, said(shown)
    assert "com_acme_click_1: 1 row to load, new table" in said(shown)
    loaded = run(*TO, "--workgroup", WORKGROUP)
    assert loaded.code == 0, said(loaded)
    assert "com_acme_click_1: 1 row loaded, new table" in said(loaded)
    assert redshift_scene.rows("id") == [("a", 1)]
    again = run(*TO, "--workgroup", WORKGROUP)
    assert again.code == 0
    assert "no run to load" in said(again)
    assert redshift_scene.rows("id") == [("a", 1)]


def test_a_table_that_fails_is_an_error_and_code_1(redshift_scene: RedshiftScene, run: Run) -> None:
    redshift_scene.shred(0, "1-0-0", [("id", "INT")], {"id_": "a", "id": "no number"})
    failed = run(*TO, "--workgroup", WORKGROUP)
    assert failed.code == 1
    assert "Load into table 'com_acme_click_1' failed" in said(failed)


def test_every_option_that_is_missing_or_wrong_is_named(run: Run) -> None:
    bare = run("load-shredded", "--target", "redshift", "--runs", RUNS)
    assert bare.code == 1
    assert all(f"expected --{name}: Redshift needs it" in said(bare) for name in ("database", "schema", "role"))
    wrong = run(*TO[:-1], "not an ARN", "--workgroup", "w", "--cluster", "c", "--region", "europe")
    assert wrong.code == 1
    assert "role 'not an ARN' is not valid: expected arn:aws:iam::ACCOUNT:role/NAME, or default" in said(wrong)
    assert "expected a workgroup or a cluster: name one of them" in said(wrong)
    assert "region 'europe' is not a valid name: use a region, such as eu-central-1" in said(wrong)


@pytest.mark.parametrize("options", [["--dataset", "shop"], ["--project", "my-project"]])
def test_options_of_bigquery_are_refused(run: Run, options: list[str]) -> None:
    refused = run(*TO, "--workgroup", "w", *options)
    assert refused.code == 1
    assert "expected --dataset and --project for BigQuery only: leave them out" in said(refused)


def test_options_of_redshift_need_its_name(run: Run) -> None:
    refused = run("load-shredded", "--runs", RUNS, "--dataset", "shop", "--db-user", "u", "--region", "eu-central-1")
    assert refused.code == 1
    assert "expected --db-user, --region for Redshift only: add --target redshift" in said(refused)


def test_a_password_is_a_secret_of_aws(run: Run) -> None:
    refused = run(*TO, "--workgroup", "w", "--password-from", "env:DB_PASSWORD")
    assert (refused.code, "name a secret of AWS, by its ARN or name" in said(refused)) == (1, True)
    former = run("load-shredded", "--runs", RUNS, "--dataset", "shop", "--secret", "db")
    assert "--secret is now --password-from" in said(former)
    assert "expected --password-from for Redshift only" in said(former)
