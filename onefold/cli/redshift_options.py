"""Options of commands that load into Redshift."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING, Any

import click

from onefold.core.errors import InvalidInput
from onefold.core.text import shown_list

if TYPE_CHECKING:
    from onefold.adapters.redshift.connection import RedshiftConnection

_OPTIONS = (
    click.option("--database", metavar="D", help="Redshift: the database."),
    click.option("--schema", metavar="S", help="Redshift: the schema of the tables."),
    click.option("--role", metavar="ARN", help="Redshift: the role with which COPY reads the files, or `default`."),
    click.option("--workgroup", metavar="W", help="Redshift Serverless: the workgroup."),
    click.option("--cluster", metavar="C", help="Redshift, a provisioned cluster: its name."),
    click.option(
        "--password-from",
        "secret",
        metavar="REF",
        help="Redshift: the secret of AWS with user and password, by its ARN or name.  [default: sign in by IAM]",
    ),
    click.option("--db-user", metavar="U", help="Redshift, a cluster: the user to sign in as by IAM."),
    click.option("--region", metavar="R", help="Redshift: the region.  [default: AWS_DEFAULT_REGION, or your profile]"),
)
_REQUIRED = ("database", "schema", "role")
_OF_OTHERS = ("env:", "file:", "projects/")
"""How references of other commands begin."""


def redshift_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a connection to a command, which takes them as keyword arguments."""
    return reduce(lambda decorated, option: option(decorated), reversed(_OPTIONS), command)


def redshift_connection(options: dict[str, str | None]) -> RedshiftConnection:
    """Return the connection that options name.

    Args:
        options: the values of the options by their names; None for those that were not given.

    Raises:
        InvalidInput: options are missing or not valid; the error lists all of them.
    """
    from onefold.adapters.redshift.connection import RedshiftConnection

    problems = [f"expected --{name}: Redshift needs it" for name in _REQUIRED if not options[name]]
    # Source: Amazon Redshift Data API, ExecuteStatement, SecretArn: the service reads the password, and takes none.
    if (options["secret"] or "").startswith(_OF_OTHERS):
        problems.append("--password-from: Redshift reads the password itself: name a secret of AWS, by its ARN or name")
    if problems:
        raise InvalidInput(problems)
    return RedshiftConnection(
        database=options["database"] or "", schema=options["schema"] or "", role=options["role"] or "",
        workgroup=options["workgroup"], cluster=options["cluster"], secret=options["secret"], user=options["db_user"],
        region=options["region"],
    )  # fmt: skip


def check_no_redshift(options: dict[str, str | None]) -> None:
    """Check that no option of Redshift is given to a load into BigQuery.

    Raises:
        InvalidInput: there is one.
    """
    words = {"secret": "password-from", "db_user": "db-user"}
    given = [f"--{words.get(name, name)}" for name, value in options.items() if value is not None]
    if given:
        raise InvalidInput(f"expected {shown_list(given)} for Redshift only: add --target redshift")
