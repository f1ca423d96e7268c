"""A job of the shredder on EMR Serverless that a command starts: shown as a batch is."""

from __future__ import annotations

import os
import shlex
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from onefold.batches.report import Report, last_report
from onefold.cli.batch import show_outcome, wait_for
from onefold.cli.common import OK, print_lines
from onefold.cli.output import echo_json
from onefold.core.errors import OnefoldError
from onefold.ports.batches import BatchState, StoredBatch
from onefold.settings.emr import read_emr

if TYPE_CHECKING:
    from onefold.adapters.emr_serverless import EmrServerless

EMR_APPLICATION = "ONEFOLD_EMR_APPLICATION"
_NAME = "onefold-retry"
"""Not the name of the jobs for new files, which other files wait for."""


def run_on_emr(words: Sequence[str], *, wait: bool, dry_run: bool, as_json: bool) -> int:
    """Start a job of the shredder, print what became of it, and return the exit code.

    Args:
        words: the command line of the job.
        wait: whether to wait until it ends.
        dry_run: whether to say only what would be started.
        as_json: whether to print JSON, in the form of a batch.

    Raises:
        InvalidSettings: variables of EMR Serverless are missing or not valid.
    """
    from onefold.adapters.emr_serverless import EmrServerless

    settings, token = read_emr(os.environ), uuid.uuid4().hex
    if dry_run:
        _show_planned(f"would run {settings.code}/shred.py {shlex.join(words)}", token, as_json)
        return OK
    jobs = EmrServerless(settings)
    id_ = jobs.start(_NAME, words, token, log_prefix=token)
    if not as_json:
        click.echo(f"{id_} created")
    started = StoredBatch(id_, BatchState.PENDING)
    found = wait_for(jobs, started) if wait else started
    report, warnings = _report(jobs, token) if found.state.ended else (None, [])
    about = {"id": token, "batch": id_, "created": True}
    return show_outcome("shred", found, about, report, warnings=warnings, link="", as_json=as_json)


def _report(jobs: EmrServerless, token: str) -> tuple[Report | None, list[str]]:
    """Return the report of a job that has ended, and why it cannot be shown. Its log may be late."""
    try:
        report = last_report(jobs.printed(token))
    except OnefoldError as error:
        return None, [f"the report of the job cannot be read: {error}"]
    return report, [] if report else [f"the log of the job has no report yet: see the streams {token}"]


def _show_planned(what: str, token: str, as_json: bool) -> None:
    if as_json:
        planned = {"id": token, "batch": "", "created": False, "state": ""}
        echo_json([{**planned, "message": what, "link": "", "report": None}])
    else:
        print_lines(what, is_whole=True)
