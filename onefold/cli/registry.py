"""The commands on a registry: `onefold schema add`, `list`, `show`, `export`, `serve` and `key create`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onefold.cli.common import ERROR, OK, as_json, read_settings, say
from onefold.cli.output import echo_json
from onefold.cli.recording import schema_recording
from onefold.cli.registry_options import (
    address_of,
    listed_models,
    objects_of,
    open_registry,
    open_store,
    order_option,
    parse_order,
    reads_registry,
    registry_option,
    warn_of_unusable,
)
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput, NotFound, OnefoldError
from onefold.core.text import counted, shown_list

if TYPE_CHECKING:
    from onefold.events.registry.json_schema import JsonSchema
    from onefold.events.registry.recording import SchemaRecording
    from onefold.events.registry.schema_key import SchemaKey
    from onefold.events.registry.sources import SchemaSource

_ANY_PATH = click.Path(exists=True, path_type=Path)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=_ANY_PATH)
@registry_option
@dry_run_option
@as_json
@click.pass_context
def add(context: click.Context, files: tuple[Path, ...], registry: str | None, dry_run: bool, as_json: bool) -> int:
    """Add schemas to a registry: files in the order in which they are named.

    A FILE may be a folder of schemas: they are added in the order of their numbers. A schema that breaks rules is reported
    with all reasons and not added; it does not stop the others. A schema that is there already is left as it is.
    """
    store = open_store(context, registry, dry_run)
    recording = schema_recording(store, read_settings(context), dry_run)
    results = [_added(path, recording) for file in files for path in _schema_files(file)]
    if as_json:
        echo_json(results)
    else:
        _show_additions(results, dry_run)
    return ERROR if any(result["errors"] for result in results) else OK


def _show_additions(results: list[dict[str, Any]], dry_run: bool) -> None:
    for result in results:
        if not result["errors"]:
            would = "would be " if dry_run and result["outcome"] != "unchanged" else ""
            click.echo(f"{would}{result['outcome']} {result['schema']}")
        for error in result["errors"]:
            say("red", f"Error: {result['file']}: {error}")


def _added(path: Path, recording: SchemaRecording) -> dict[str, Any]:
    """Add the schema of a file, and return what became of it, or why it was not added."""
    from onefold.events.registry.json_schema import parse_schema

    result: dict[str, Any] = {"file": str(path), "schema": None, "outcome": "failed", "errors": []}
    try:
        schema = parse_schema(path.read_bytes())
        result["schema"] = schema.key.uri
        result["outcome"] = str(recording.add(schema))
    except OSError as error:
        result["errors"] = [f"it cannot be read: {error.strerror}"]
    except OnefoldError as error:
        result["errors"] = str(error).splitlines()
    return result


def _schema_files(path: Path) -> Iterator[Path]:
    """Yield a file, or the files of a folder by their schemas' names and numbers; hidden files are skipped.

    Raises:
        NotFound: the folder has no files.
        InvalidInput: the order of the folder's schemas is not certain.
    """
    from onefold.events.registry.folder import schema_files

    if path.is_file():
        yield path
        return
    yield from sorted(schema_files(path), key=_sort_key)


def _sort_key(path: Path) -> tuple[int, SchemaKey | None, str]:
    """Return by what the files of a folder are sorted; those that are no schemas come last, and are reported."""
    from onefold.events.registry.json_schema import parse_schema

    try:
        return (0, parse_schema(path.read_bytes()).key, str(path))
    except (OSError, OnefoldError):
        return (1, None, str(path))


@click.command("list")
@click.argument("prefix", metavar="[VENDOR[/NAME[/FORMAT[/MODEL]]]]", required=False)
@reads_registry
@order_option
@as_json
@click.pass_context
def list_(context: click.Context, prefix: str | None, registry: str | None, order: str | None, as_json: bool) -> int:
    """List the schemas of a registry in the order of their addition."""
    from onefold.events.registry.sources import keys_below

    source = open_registry(context, registry, parse_order(order))
    keys = keys_below(source, prefix or "")
    warn_of_unusable(source)
    if as_json:
        echo_json([{"schema": key.uri, "version": str(key.version), "model": key.version.model} for key in keys])
    else:
        for key in keys:
            click.echo(key.uri)
    return OK


@click.command()
@click.argument("schema", metavar="VENDOR/NAME/FORMAT/VERSION")
@reads_registry
@as_json
@click.pass_context
def show(context: click.Context, schema: str, registry: str | None, as_json: bool) -> int:
    """Print one schema of a registry."""
    from onefold.events.registry.json_schema import parse_key

    key = parse_key(schema)
    found = _found(open_registry(context, registry), key)
    if as_json:
        echo_json([{"schema": key.uri, "json": found.json}])
    else:
        click.echo(json.dumps(found.json, ensure_ascii=False, indent=2))
    return OK


def _found(source: SchemaSource, key: SchemaKey) -> JsonSchema:
    """Return a schema.

    Raises:
        NotFound: the registry does not have it; the error names the versions that it has, or a near model.
    """
    from onefold.events.registry.registry import no_such_model

    schema = source.find(key)
    if schema is None:
        versions = shown_list(str(one.version) for one in source.versions(key.model_key))
        if not versions:
            raise NotFound(no_such_model("the registry", key.model_key, [one.path for one in listed_models(source)]))
        raise NotFound(f"the registry does not have {key}; it has {versions}")
    return schema


@click.command()
@click.argument("prefix", metavar="[VENDOR[/NAME[/FORMAT[/MODEL]]]]", required=False)
@reads_registry
@order_option
@click.option("--into", "target", metavar="ADDRESS", required=True, help="The folder, or gs://BUCKET/FOLDER, of the copy.")
@dry_run_option
@as_json
@click.pass_context
def export(
    context: click.Context, prefix: str | None, registry: str | None, order: str | None, target: str, dry_run: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Copy a registry, or a part of it, as static files with the order of addition.

    The copy can be served by any web server, and is a registry itself. It may be repeated: a copy grows, and nothing in it
    changes.
    """
    from onefold.events.registry.export import export as write
    from onefold.events.registry.sources import keys_below

    target = target.rstrip("/")
    _check_copy(target, address_of(read_settings(context), registry))
    source = open_registry(context, registry, parse_order(order))
    index = write(source, keys_below(source, prefix or ""), target, objects_of(target, dry_run))
    warn_of_unusable(source)
    if as_json:
        echo_json([{"schema": entry.key.uri, "added": entry.added, "sha256": entry.digest} for entry in index.entries])
    else:
        would = " would be written" if dry_run else ""
        click.echo(f"{target}: {counted(len(index.entries), 'schema')} and {target}/schemas/index.json{would}")
    return OK


def _check_copy(target: str, address: str) -> None:
    """Check that a copy does not replace what it is made from.

    Raises:
        InvalidInput: it does.
    """
    if target == address or ("://" not in target and Path(target).resolve() == Path(address).resolve()):
        raise InvalidInput(f"{target} is the registry itself: name another folder for the copy")


COMMANDS = (add, list_, show, export)
