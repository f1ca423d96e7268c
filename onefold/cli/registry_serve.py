"""The commands around the API of a registry: `onefold schema serve` and `onefold schema key create`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from onefold.cli.common import OK, as_json, print_lines, raise_problems, say
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.cli.registry_options import objects_of, open_store, registry_option
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput
from onefold.core.text import shortened

_LAST_PORT = 65535


@click.command()
@registry_option
@click.option("--port", metavar="N", type=click.IntRange(1, _LAST_PORT), default=8080, show_default=True, help="The port.")
@click.option(
    "--keys-file",
    "keys",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="The file of keys; without it nothing can be added.  [default: ONEFOLD_REGISTRY_KEYS]",
)
@as_json
@click.pass_context
def serve(context: click.Context, registry: str | None, port: int, keys: str | None, as_json: bool) -> int:
    """Serve a registry on this machine, as the function schema_registry does.

    Other machines cannot reach it. Everybody on this one may read all schemas, unless ONEFOLD_REGISTRY_PUBLIC names some.
    """
    from onefold.core.shutdown import ended_in_order
    from onefold.core.sources import functions_source

    address = open_store(context, registry).address  # what cannot be served is an error now, and not of each request
    environ = {
        **os.environ,
        "ONEFOLD_REGISTRY": address,
        "ONEFOLD_REGISTRY_PUBLIC": os.environ.get("ONEFOLD_REGISTRY_PUBLIC", "*"),
        **({"ONEFOLD_REGISTRY_KEYS": keys} if keys else {}),
    }
    command = [sys.executable, "-m", "functions_framework", "--source", str(functions_source())]
    command += ["--target", "schema_registry", "--host", "127.0.0.1", "--port", str(port)]
    url = f"http://127.0.0.1:{port}/api"
    if as_json:
        echo_json([{"registry": address, "url": url}])
    else:
        print_lines(f"{address} is served at {url} until you press Ctrl-C")
    sys.stdout.flush()
    with ended_in_order():  # with --json standard output has that object alone
        return subprocess.run(command, env=environ, check=False, stdout=sys.stderr if as_json else None).returncode  # noqa: S603


@click.group(cls=CommandGroup)
def key() -> None:
    """Keys of the API of a registry."""


@key.command()
@click.option("--name", metavar="NAME", required=True, help="What the key is for, as the log shows it.")
@click.option(
    "--vendor",
    "vendors",
    metavar="VENDOR",
    multiple=True,
    required=True,
    help="A prefix of vendors, as com.acme, or *; may be repeated.",
)
@click.option(
    "--access", type=click.Choice(["read", "write"]), default="read", show_default=True, help="A key that writes also reads."
)
@click.option(
    "--file",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file of keys, to which the hash is added.",
)
@dry_run_option
@as_json
def create(name: str, vendors: tuple[str, ...], access: str, file: Path | None, dry_run: bool, as_json: bool) -> int:
    """Make a key, and print it once.

    Only its hash is stored: in FILE, or printed for the secret that the function reads. Remove the entry to revoke the key.
    """
    from onefold.events.registry.api_keys import Access, create_key, stored_key, vendor_problems

    raise_problems(vendor_problems(vendors))
    made = create_key()
    entry = stored_key(name, made, vendors, Access(access))
    if file:
        _store(file, entry, dry_run)
    if dry_run:
        made, entry = "", {**entry, "sha256": ""}  # that key is nobody's
    if as_json:
        echo_json([{"key": made, "entry": entry}])
        return OK
    if dry_run:
        click.echo(f"would make a key, and add {json.dumps(entry)}{f' to {file}' if file else ''}")
        return OK
    click.echo(made)
    say("yellow", "This is the key, shown once: hand it over by a safe way.")
    if not file:
        say("yellow", 'Add this entry to the list "keys" of the file of keys:')
        click.echo(json.dumps(entry), err=True)
    return OK


def _store(file: Path, entry: dict[str, Any], dry_run: bool) -> None:
    """Add an entry to the file of keys, which is created where it does not exist. A dry run checks that it could be added.

    Raises:
        InvalidInput: the file is not valid, or has an entry of this name.
        OnefoldError: the file cannot be written, or somebody else has just written it.
    """
    from onefold.events.registry.api_keys import parse_keys
    from onefold.ports.objects import NEW

    objects = objects_of(str(file.absolute().parent), dry_run)
    found = objects.find(str(file.absolute()))
    stored = parse_keys(found.data, str(file)) if found else ()
    if any(one.name == entry["name"] for one in stored):
        raise InvalidInput(
            f"{file}: the name {shortened(entry['name'])} is taken: choose another --name, or remove its entry, which "
            "revokes that key"
        )
    entries = [*(json.loads(found.data)["keys"] if found else []), entry]
    data = json.dumps({"keys": entries}, indent=2).encode() + b"\n"
    parse_keys(data, str(file))
    objects.write(str(file.absolute()), data, found.generation if found else NEW)


COMMANDS = (serve, key)
