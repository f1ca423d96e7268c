"""The command `publish`: a test message that a version is new."""

from __future__ import annotations

import json
import os

import click

from onefold.cli.common import OK, as_json, given, project, raise_problems, read_settings, say
from onefold.cli.named_tables import NamedTables
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option, table_and_version
from onefold.cli.warehouse import open_project, unknown_table
from onefold.core.errors import OnefoldError
from onefold.core.names import problems_of_name
from onefold.settings.environment import Settings
from onefold.settings.variables import BIGQUERY_EMULATOR


@click.command()
@table_and_version
@click.option("--function", "to", metavar="URL", help="Send a CloudEvent to a local function instead of publishing.")
@click.option("--topic", metavar="T", help="The topic.  [default: ONEFOLD_TOPIC_TABLE_CREATED, table-created]")
@dry_run_option
@project
@as_json
@click.pass_context
def publish(
    context: click.Context,
    named: NamedTables,
    version: str | None,
    to: str | None,
    topic: str | None,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Publish a test message that VERSION of TABLE is new, to Pub/Sub or its emulator (PUBSUB_EMULATOR_HOST).

    Without VERSION the message says that TABLE may have changed, which may be a table without versions.
    """
    from onefold.adapters.pubsub import PubSub
    from onefold.adapters.send_event import send_event
    from onefold.messages.table_created import table_message
    from onefold.ports.publisher import Message

    settings = read_settings(context)
    name, dataset, table = project or settings.project or "", named.dataset, str(named.table)
    problems = _version_problems(settings, dataset, table, version)
    problems += [problem for kind, text in given(("project", project)) for problem in problems_of_name(kind, text)]
    if not to and not name:
        problems.append("the project is missing: name it with --project, or set ONEFOLD_PROJECT")
    raise_problems(problems)
    if _is_near_tables(bool(to)) and (warning := _unknown(context, name, named, settings)):
        say("yellow", f"Warning: {warning}; the message {'would be' if dry_run else 'is'} sent all the same")
    data = table_message(dataset, table, version)
    topic = topic or settings.topic_table_created or "table-created"
    if dry_run:
        identifier = ""
    elif to:
        identifier = send_event(to, data)
    else:
        identifier = PubSub(name).publish(topic, [Message(data)])[0]
    if as_json:
        echo_json([{"id": identifier, "message": json.loads(data)}])
    else:
        done = f"would be sent to {to or topic}" if dry_run else f"sent to {to or topic} as {identifier}"
        click.echo(f"{done}: {data.decode()}")
    return OK


def _is_near_tables(to_function: bool) -> bool:
    """Return whether the message and the tables are in one place: both in the cloud, or both on this machine."""
    return bool(os.environ.get(BIGQUERY_EMULATOR)) == (to_function or bool(os.environ.get("PUBSUB_EMULATOR_HOST")))


def _unknown(context: click.Context, project: str, named: NamedTables, settings: Settings) -> str:
    try:
        warehouse = open_project(context, project)
    except OnefoldError as error:
        return f"whether there is a table {named.text} is not known: {error}"
    return unknown_table(warehouse, named.dataset, named.name, settings.names_in(named.dataset))


def _version_problems(settings: Settings, dataset: str, table: str, version: str | None) -> list[str]:
    """Return why the functions would refuse a message about a table, or about a version of a table."""
    named = given(("dataset", dataset), ("table", table), ("version", version))
    problems = [problem for kind, text in named for problem in problems_of_name(kind, text)]
    return problems or (settings.names_in(dataset).problems(table, version) if version else [])
