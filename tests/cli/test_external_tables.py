"""`onefold external-tables`: options, output and exit codes, against S3, Glue and Redshift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import boto3
from support.cli import Outcome, check_json
from support.redshift_runs import ENVELOPE
from support.redshift_scene import RUNS, TABLE, RedshiftScene
from support.redshift_server import DATABASE, ROLE, SCHEMA, WORKGROUP
from support.shredded_runs import click_table

Run = Callable[..., Outcome]
WORDS = [
    "external-tables", "--runs", RUNS, "--catalog", "acme", "--external-schema", "spectrum", "--view-schema", "events",
    "--database", DATABASE, "--schema", SCHEMA, "--role", ROLE, "--workgroup", WORKGROUP,
]  # fmt: skip
ROW = ("com.acme", "click", "jsonschema", "1-0-0", "a", datetime(2026, 11, 23, tzinfo=UTC), "events", "[]", "events", 1)


def test_runs_are_shown_and_registered_once(redshift_scene: RedshiftScene, run: Run) -> None:
    redshift_scene.server.run("DROP SCHEMA IF EXISTS spectrum CASCADE", "DROP SCHEMA IF EXISTS events CASCADE")
    boto3.client("glue").create_database(DatabaseInput={"Name": "acme"})
    redshift_scene.write_values(0, [(replace(click_table("1-0-0", ()), columns=(*ENVELOPE, ("id", "INT"))), [ROW])])
    shown = run(*WORDS, "--dry-run")
    assert (shown.code, shown.out) == (0, f"{TABLE}: new table, 1 run added\n1 external table would be changed\n"), shown.err
    done = run(*WORDS)
    assert (done.code, done.out) == (0, f"{TABLE}: new table, 1 run added\n1 external table changed\n"), done.err
    again = run(*WORDS, "--json")
    check_json(again.out)
    assert again.results == [{"table": TABLE, "action": "none", "added": [], "error": None}]
    with redshift_scene.server.connect() as connection:
        redshift_scene.server.spectrum.read(connection)
    assert redshift_scene.server.query(f'SELECT id FROM events."{TABLE}"') == [(1,)]


def test_a_catalogue_that_is_not_there_is_named_for_each_table(redshift_scene: RedshiftScene, run: Run) -> None:
    redshift_scene.write_values(0, [(replace(click_table("1-0-0", ()), columns=(*ENVELOPE, ("id", "INT"))), [ROW])])
    failed = run(*WORDS, "--dry-run")
    assert failed.code == 1
    assert f"{TABLE}: Glue has no database acme: create it" in " ".join(failed.err.split())


def test_every_option_that_is_missing_or_wrong_is_named(run: Run) -> None:
    bare = run("external-tables", "--runs", "/tmp/runs")
    assert bare.code == 1
    names = ("catalog", "external-schema", "view-schema", "database", "schema", "role")
    assert all(f"expected --{name}" in bare.err for name in names)
    assert "expected runs in S3" in bare.err
