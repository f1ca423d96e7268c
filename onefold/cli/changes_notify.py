"""The command `onefold changes notify`: tells the owners of tables of the changes that they have not been notified of."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click

from onefold.changes.digest import Digest, digests
from onefold.changes.email import DigestMail
from onefold.changes.notifications import append_notified, read_notified
from onefold.changes.notify import NotifiedOwner, Notifier, Post
from onefold.changes.read import read_entries
from onefold.changes.reader_counts import KnownReaders
from onefold.changes.reader_table import read_readers
from onefold.changes.rows import unknown_warnings
from onefold.changes.topic import DigestTopic
from onefold.cli.changes_list import ledger_dataset
from onefold.cli.common import ERROR, OK, as_json, given, print_lines, project, read_settings, say
from onefold.cli.output import echo_json
from onefold.cli.table_arguments import dry_run_option
from onefold.cli.warehouse import open_project
from onefold.core.errors import InvalidInput
from onefold.core.names import check_names
from onefold.core.text import counted
from onefold.settings.environment import Settings
from onefold.settings.owners import Owner, Owners


@click.command()
@dry_run_option
@project
@as_json
@click.pass_context
def notify(context: click.Context, dry_run: bool, project: str | None, as_json: bool) -> int:
    """Notify the owners of tables of new changes, each by one message to its webhook, topic or e-mail, and record that.

    `owners` of onefold.yaml names them. An owner that cannot be notified is notified by the next run, and stops no other.
    """
    from onefold.adapters.pubsub_rest import RestPublisher
    from onefold.adapters.webhooks import Webhook
    from onefold.views.hidden_entries import names_of_hidden

    check_names(given(("project", project)))
    settings = read_settings(context)
    place = ledger_dataset(settings)
    owners = _owners(settings)
    warehouse: Any = open_project(context, project or settings.project)

    def channel_of(owner: Owner) -> Post:
        if owner.email:
            return DigestMail(owner.pattern, os.environ).post
        if owner.topic:
            return DigestTopic(RestPublisher(warehouse.project), owner.topic).post
        return Webhook.of(owner.webhook, os.environ).post

    def record(digest: Digest) -> None:
        append_notified(warehouse, place, digest.owner.pattern, digest.ids)

    notified = read_notified(warehouse, place)
    entries = names_of_hidden(read_entries(warehouse, place, settings.contracts.verdicts), settings, warehouse.project)
    found = digests(entries, notified, owners)
    notifier = Notifier(channel_of, record, read_readers(warehouse, place))
    results = [notifier.notify(digest, dry_run=dry_run) for digest in found]
    _show(results, notifier.readers, list(unknown_warnings(entries)), dry_run=dry_run, as_json=as_json)
    return ERROR if any(one.error for one in results) else OK


def _owners(settings: Settings) -> Owners:
    """Return the owners.

    Raises:
        InvalidInput: there are none.
    """
    if not settings.owners.all:
        raise InvalidInput(
            "onefold.yaml names no owners: add `owners` with a pattern of tables and its webhook, topic or email"
        )
    return settings.owners


def _show(
    results: Sequence[NotifiedOwner], readers: KnownReaders, warnings: Sequence[str], *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        echo_json([{**one.as_dict(), "dry_run": dry_run} for one in results], warnings=warnings)
        return
    for text in warnings:
        say("yellow", f"Warning: {text}")
    for one in results:
        if one.error:
            say("red", f"Error: {one.error}")
        elif one.digest.changes:
            print_lines(f"{one.digest.owner.pattern}: {one.outcome} of {counted(len(one.digest.changes), 'change')}")
        else:
            print_lines(f"{one.digest.owner.pattern}: {one.outcome}")
        if dry_run:
            print_lines(*(f"    {line}" for line in one.digest.lines(readers)))
