"""The command `schema import`: what others have published, taken into a registry as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import click

from onefold.cli.common import CHANGES, OK, as_json, read_settings, say
from onefold.cli.output import echo_json
from onefold.cli.recording import schema_recording
from onefold.cli.registry_options import key_option, open_published, open_store, registry_option
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.events.registry.import_plan import ImportedSchema
    from onefold.events.registry.published import Listing


@click.command("import")
@click.argument("source")
@registry_option
@key_option
@click.option("--vendor", "vendors", metavar="VENDOR", multiple=True, help="Import this vendor only; may be repeated.")
@click.option(
    "--uris",
    metavar="FILE",
    type=click.File("rb"),
    help="Import the schemas that a file names, one URI a line; - is standard input.",
)
@dry_run_option
@as_json
@click.pass_context
def import_(
    context: click.Context,
    source: str,
    registry: str | None,
    vendors: tuple[str, ...],
    uris: BinaryIO | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Take the schemas that others have published into a registry, as they are.

    SOURCE is a folder or a bucket with schemas/VENDOR/NAME/FORMAT/VERSION, https://HOST/PATH with an index, or
    https://HOST/api, a server; with --uris also https://HOST/PATH without an index. What cannot be used is named, and stops
    nothing else. What a change really is, is computed, whatever its number claims. An import may be repeated: newer schemas
    are added at the end.
    """
    from onefold.events.registry.import_plan import as_dict
    from onefold.events.registry.published import read_published

    store = open_store(context, registry, dry_run)
    opened, listing = open_published(context, source, _named(uris) if uris else None)
    published = read_published(opened, listing.of_vendors(vendors))
    settings = read_settings(context)
    recording = schema_recording(store, settings, dry_run)
    if recording.ledger:
        expected = open_store(context, registry, dry_run=True).import_all(published, settings.registry.warehouses)
        recording.record(expected.added)
    plan = store.import_all(published, settings.registry.warehouses)
    if as_json:
        echo_json([as_dict(result) for result in plan.results])
    else:
        _show(plan.results, dry_run)
    return CHANGES if any(result.outcome == "left out" for result in plan.results) else OK


def _named(uris: BinaryIO) -> Listing:
    """Return the schemas that the file of `--uris` names.

    Raises:
        InvalidInput: the file is not text in UTF-8, or names none.
    """
    from onefold.events.registry.published import parse_uris

    try:
        return parse_uris(uris.read().decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--uris: expected text in UTF-8: {error}") from error
    except InvalidInput as error:
        raise InvalidInput(f"--uris: {error}") from error


def _show(results: Sequence[ImportedSchema], dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for result in results:
        if result.outcome == "added":
            click.echo(f"{would}added {result.name}")
            for reason in result.reasons:
                click.echo(f"  {result.change}, and its number claims {result.claimed}: {reason}")
        for reason in result.reasons if result.outcome == "left out" else ():
            say("yellow", f"Warning: left out {result.name}: {reason}")
    counts = Counter(result.outcome for result in results)
    wrong = sum(1 for result in results if result.outcome == "added" and result.reasons)
    click.echo(
        f"{counted(counts['added'], 'schema')} {would}added, {counts['unchanged']:,} unchanged, {counts['left out']:,} left "
        f"out; {wrong:,} claim less than their change is"
    )


COMMANDS = (import_,)
