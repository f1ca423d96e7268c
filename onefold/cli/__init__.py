"""The command line. Every command is a thin call into the library.

Exit codes: 0 nothing to do, equal, or done; 1 an error, wrong usage included; 2 changes to make, or differences.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from onefold import __version__
from onefold.cli import (
    access,
    audit,
    bad_rows,
    batch,
    capture,
    changes,
    check,
    compare,
    cost,
    current,
    discover,
    doctor,
    export,
    external_tables,
    init,
    lab,
    load_shredded,
    merge,
    policies,
    publish,
    query,
    registry,
    registry_adopt,
    registry_import,
    registry_serve,
    schema,
    settings,
    sources,
    tables,
    views,
    workload,
)
from onefold.cli.common import ERROR, INTERRUPTED, OK, say
from onefold.cli.common_options import defaults, program_options
from onefold.cli.passwords import with_password_advice
from onefold.cli.program import Program
from onefold.cli.unforeseen import as_onefold_error
from onefold.core.text import shown_lines

EPILOG = "Exit codes: 0 nothing to do, equal, or done; 1 an error, wrong usage included; 2 changes to make, or differences."


@click.group(cls=Program, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onefold")
@click.pass_context
def cli(context: click.Context, /, config: Path | None, **common: Any) -> None:
    """Onefold: every version of every table, as one.

    One view (customer_unified) holds all rows of the versioned tables (customer_v_abc, customer_v_def). Columns are
    united by name, and their types are reconciled.
    """
    context.obj = config
    context.default_map = defaults(context, common)


for command in (
    init.init,
    tables.tables,
    cost.cost,
    discover.discover,
    audit.audit,
    query.query,
    views.render,
    views.plan,
    views.refresh,
    publish.publish,
    export.export,
    current.current,
    changes.changes,
    merge.merge,
    workload.workload,
    compare.compare,
    check.check,
    batch.batch,
    capture.capture,
    settings.settings,
    sources.sources,
    load_shredded.load_shredded,
    external_tables.external_tables,
    bad_rows.bad_rows,
    lab.demo,
    lab.local,
    doctor.doctor,
    access.access,
    schema.schema,
    policies.policies,
):
    cli.add_command(command)
cli.params += program_options()

for command in (*registry.COMMANDS, *registry_import.COMMANDS, *registry_adopt.COMMANDS, *registry_serve.COMMANDS):
    schema.schema.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command line, print errors as plain text, and exit with a documented code.

    Args:
        arguments: the words after the program's name; those of the process by default.
    """
    # A shell may start a program without them: what it would print goes nowhere, as its user asked.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 for as long as the process lives
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character prints a replacement instead of failing; not all streams know how.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(_exit_code(arguments))


def _exit_code(arguments: Sequence[str] | None) -> int:
    """Run a command line, and return the exit code; whatever goes wrong becomes a text on standard error."""
    try:
        code = cli.main(args=arguments, prog_name="onefold", standalone_mode=False) or OK
        sys.stdout.flush()  # here, and not at the end of the process, a full disk is an error with a text
        return int(code)
    except click.exceptions.Abort as error:
        if isinstance(error.__context__, KeyboardInterrupt):
            return INTERRUPTED
        say("red", "Interrupted.")
    except click.ClickException as error:
        with_password_advice(error).show()
    except BrokenPipeError:
        _discard_output()  # the program that read the output has ended, as `head` does
    except Exception as error:  # noqa: BLE001 no error of any kind ends as a traceback
        for line in shown_lines(str(as_onefold_error(error)).splitlines()):
            say("red", f"Error: {line}")
        if isinstance(error, OSError):
            _discard_output()
    return ERROR


def _discard_output() -> None:
    """Lead what is still to be written into nothing, so that Python does not fail on it at the end of the process."""
    with contextlib.suppress(OSError, ValueError):  # a test's stream has no file
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
