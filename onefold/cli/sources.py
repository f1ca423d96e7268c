"""The commands `sources init` and `sources check`: the sources of pulled tables in onefold.yaml."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from onefold.cli.common import CHANGES, OK, as_json, print_lines, raise_problems, read_settings, say
from onefold.cli.common_options import SOURCE, is_typed
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.core.errors import OnefoldError
from onefold.core.text import counted, shown_list
from onefold.settings.unknown_keys import near_name

if TYPE_CHECKING:
    import pymysql

    from onefold.pull.read.connection import Remedy
    from onefold.settings.environment import Settings
    from onefold.settings.sources import Source


@click.group(cls=CommandGroup)
def sources() -> None:
    """Describe and check the databases whose tables are pulled."""


@sources.command()
@click.argument("name")
@click.option("--host", metavar="H", required=True, help="The address of the server.")
@click.option("--port", metavar="N", type=click.IntRange(1, 65535), default=3306, show_default=True, help="Its port.")
@click.option("--user", metavar="U", required=True, help="The user that reads.")
@click.option(
    "--password-from", "password", metavar="REF", required=True,
    help="Where the password is: env:NAME, file:PATH, projects/P/secrets/S.",
)  # fmt: skip
@click.option("--database", "databases", metavar="D", multiple=True, required=True, help="A database; may be repeated.")
@click.option(
    "--tls",
    type=click.Choice(["verify", "encrypt", "off"]),
    default="verify",
    show_default=True,
    help="Encrypt and check the server's certificate, only encrypt, or neither.",
)
@click.option("--tls-ca", metavar="FILE", help="The authority of the server's certificate.")
@click.option("--time-zone", metavar="Z", default="UTC", show_default=True, help="The zone of DATETIME columns.")
@as_json
def init(
    name: str, host: str, port: int, user: str, password: str,
    databases: tuple[str, ...], tls: str, tls_ca: str | None, time_zone: str, as_json: bool,
) -> int:  # fmt: skip
    """Read the catalogue of a source, and print a draft of its settings for onefold.yaml.

    NAME begins the datasets of the source: fraud and the database models give fraud_models.
    """
    from onefold.mysql.catalog import tables as all_tables
    from onefold.mysql.table_filter import TableFilter
    from onefold.pull.read.connection import options_remedy
    from onefold.pull.read.inspect import choices, draft
    from onefold.settings.yaml_file import checked
    from onefold.settings.yaml_loader import Document

    body = {
        "host": host, "port": port, "user": user, "password": password, "databases": list(databases),
        "tls": {"mode": tls, "ca": tls_ca}, "time_zone": time_zone,
    }  # fmt: skip
    source = checked(Document(content={"sources": {name: body}})).sources[name]
    with _connection(source, options_remedy) as connection:
        found = [(database, choices(connection, database)) for database in databases]
        unseen = [database for database, some in found if not some]
        seen = {one.database for one in all_tables(connection, TableFilter())} if unseen else set()
    raise_problems(
        [
            f"the user sees no table of {database}{near_name(database, seen)}: correct --database, or grant SELECT"
            for database in unseen
        ]
    )
    if as_json:
        echo_json([choice.as_dict(database) for database, some in found for choice in some])
    else:
        click.echo(draft(source, found), nl=False)
    return OK


_NO_SOURCE = (
    "there is no source to check: run this command where onefold.yaml is, or name the file by --config; "
    "`onefold sources init` drafts its `sources`"
)


def unknown_source(name: str, known: Collection[str]) -> str:
    """Return the text of the problem that onefold.yaml has no source of a name."""
    return f"no source of onefold.yaml is named {name}{near_name(name, known)}; it has {shown_list(known) or 'none'}"


@sources.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(SOURCE.word, metavar=SOURCE.metavar, help=SOURCE.help)
@as_json
@click.pass_context
def check(context: click.Context, names: tuple[str, ...], source: str | None, as_json: bool) -> int:
    """Check connections, rights, watermarks, clocks and zones of the sources in onefold.yaml, all of them by default."""
    settings = read_settings(context)
    if source and (not names or is_typed(context, "source")):
        names = tuple(dict.fromkeys((*names, source)))
    raise_problems([unknown_source(name, settings.sources) for name in names if name not in settings.sources])
    if not settings.sources:
        raise_problems([_NO_SOURCE])
    chosen = [settings.sources[name] for name in names or settings.sources]
    problems = {source.cluster: _problems(source, settings) for source in chosen}
    if as_json:
        entries = [
            {"source": one.cluster, "databases": list(one.databases), "errors": problems[one.cluster]} for one in chosen
        ]
        echo_json(entries)
    for problem in [problem for each in problems.values() for problem in each]:
        say("red", f"Error: {problem}")
    sound = [one for one in chosen if not problems[one.cluster]]
    if not as_json and sound:
        print_lines(*(f"{one.cluster}: {counted(len(one.databases), 'database')} can be pulled" for one in sound))
    return OK if len(sound) == len(chosen) else CHANGES


def _problems(source: Source, settings: Settings) -> list[str]:
    """Return all problems of a source, the one that it cannot be read at all included."""
    from onefold.pull.read.connection import settings_remedy
    from onefold.pull.read.inspect import source_problems

    problems: list[str] = []
    try:
        with _connection(source, settings_remedy) as connection:
            found = source_problems(connection, source, lambda table: settings.rules_for(table).keys, datetime.now(UTC))
            problems += found
    except OnefoldError as error:
        problems.append(f"sources.{source.cluster}: {error}")
    return problems


@contextmanager
def _connection(source: Source, remedy: Remedy) -> Iterator[pymysql.Connection]:
    """Open a connection to a source.

    Raises:
        Rejected: the source does not answer, or refuses the user.
    """
    from onefold.adapters.secrets import read_password
    from onefold.mysql.connection import connect
    from onefold.pull.read.connection import address_of, readable

    password = read_password(source.password, os.environ)
    with readable(source, remedy), closing(connect(address_of(source, password))) as connection:
        yield connection
