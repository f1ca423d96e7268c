"""The command line. Every command is a thin call into the library.

Exit codes: 0 nothing to do, the same, or done; 1 an error, wrong usage included; 2 changes to make, or differences.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from onefold import __version__
from onefold.cli import batch as batches
from onefold.cli import capture as capturing
from onefold.cli import compare as comparing
from onefold.cli import current as changes
from onefold.cli import demo as demonstrating
from onefold.cli import merge as merging
from onefold.cli import views
from onefold.cli.common import ERROR, OK, say
from onefold.core.errors import OnefoldError

EPILOG = (
    "Exit codes: 0 nothing to do, the same, or done; 1 an error, wrong usage included; 2 changes to make, or differences."
)


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="onefold")
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The settings of tables.  [default: ONEFOLD_CONFIG, onefold.yaml where there is one]",
)
@click.pass_context
def cli(context: click.Context, config: Path | None) -> None:
    """Onefold: every version of every table, as one.

    Versioned tables (customer_v_abc, customer_v_def) become one view (customer_unified) that holds every row of each,
    with columns united by name and types reconciled.
    """
    context.obj = config


for command in (
    views.render,
    views.plan,
    views.refresh,
    views.publish,
    changes.current,
    merging.merge,
    changes.workload,
    comparing.compare,
    batches.batch,
    capturing.capture,
    demonstrating.demo,
):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """The entry point: errors as one clear text, and the documented exit codes."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character shows another one instead of breaking off; not all streams know how.
        with contextlib.suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.exit(cli.main(args=arguments, prog_name="onefold", standalone_mode=False) or OK)
    except click.exceptions.Abort:
        say("red", "Interrupted.")
    except click.ClickException as error:
        error.show()
    except OnefoldError as error:
        for line in str(error).splitlines():
            say("red", f"Error: {line}")
    sys.exit(ERROR)
