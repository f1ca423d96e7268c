"""The lines that a run of the shredder logs, for which alarms of Cloud Monitoring and CloudWatch watch."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from datetime import timedelta

from onefold.core.log import log_to
from onefold.core.text import counted, shown_list
from onefold.events.shred.bad_reasons import unknown_schemas
from onefold.events.shred.manifest import RunManifest

KNOWN_FOR = timedelta(days=30)
"""How long a reason is known: a reason that no run of this time had is new."""


def log_run(output: str, manifest: RunManifest, known: Collection[str], bad_percent: int) -> None:
    """Log a finished run, and what somebody has to look at. Standard output has the report alone, so this is standard error.

    Args:
        output: the folder of the runs.
        manifest: that of the run.
        known: the reasons of earlier runs.
        bad_percent: the share of bad events above which a line says so.
    """
    bad = sum(manifest.bad.values())
    fields = {"run": manifest.run, "output": output, "events": manifest.events, "bad": bad}
    fields |= {"duplicates": manifest.duplicates} if manifest.duplicates else {}
    share = round(100 * bad / manifest.events, 1) if manifest.events else 0.0
    counts = f"{counted(manifest.events, 'event')}, {bad:,} bad"
    log_to(
        sys.stderr, "NOTICE", f"{output}, run {manifest.run}: {counts}", event="run_shredded", **fields, bad_percent=share
    )
    if 100 * bad > bad_percent * manifest.events:
        text = f"{output}, run {manifest.run}: {share:g} % of {counted(manifest.events, 'event')} are bad rows"
        log_to(sys.stderr, "ERROR", text, event="many_bad_events", **fields, bad_percent=share, limit_percent=bad_percent)
    _log_reasons(output, manifest, [reason for reason in manifest.reasons if reason not in known])


def _log_reasons(output: str, manifest: RunManifest, new: Sequence[str]) -> None:
    schemas = unknown_schemas(new)
    if schemas:
        text = f"{output}, run {manifest.run}: the registry lacks {shown_list(schemas)}: add them, then shred the bad rows"
        log_to(sys.stderr, "ERROR", text, event="unknown_schema", run=manifest.run, output=output, schemas=schemas)
    if others := {reason: manifest.reasons[reason] for reason in new if not unknown_schemas([reason])}:
        text = f"{output}, run {manifest.run}: bad rows with {counted(len(others), 'reason')} that no earlier run had"
        log_to(sys.stderr, "ERROR", text, event="new_bad_reason", run=manifest.run, output=output, reasons=others)


def log_late(output: str, runs: Sequence[str], hours: float) -> None:
    """Log the runs that have had no manifest for long.

    Args:
        output: the folder of the runs.
        runs: their names.
        hours: how long ago the oldest one began.
    """
    text = (
        f"{output}: no manifest of {shown_list(runs)}, the first of which began {hours:.1f} hours ago: its job was "
        "killed, or is still at work, as its log says"
    )
    log_to(
        sys.stderr, "ERROR", text, event="run_without_manifest", output=output, runs=list(runs), age_hours=round(hours, 1)
    )
