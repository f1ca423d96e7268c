"""Where a database of Redshift is, and who loads into it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from onefold.core.errors import InvalidInput

DEFAULT_ROLE = "default"
"""Names the role that is the default one of the cluster or the workgroup."""
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,126}")
_NAME = re.compile(r"[A-Za-z0-9_.@+-]{1,127}")
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]{1,512}")
_SECRET = re.compile(r"[A-Za-z0-9_+=,.@:/!-]{1,2048}")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-[0-9]")


@dataclass(frozen=True)
class RedshiftConnection:
    """A database of Redshift, and the account that loads into it.

    Attributes:
        database: the name of the database.
        schema: the schema of the tables of events.
        role: the ARN of the role with which COPY reads the files, or `default`.
        workgroup: the workgroup, for Redshift Serverless.
        cluster: the cluster, for a provisioned one.
        secret: the ARN or the name of the secret with the user and the password; None signs in by IAM.
        user: the user of the database to sign in as by IAM; only for a cluster.
        region: the region; None takes the one of the environment.
    """

    database: str
    schema: str
    role: str
    workgroup: str | None = None
    cluster: str | None = None
    secret: str | None = None
    user: str | None = None
    region: str | None = None

    def __post_init__(self) -> None:
        """Check all names.

        Raises:
            InvalidInput: names are not valid, or do not go together; the error lists all problems.
        """
        problems = [*_problems_of_names(self), *_problems_of_choice(self)]
        if problems:
            raise InvalidInput(problems)

    def arguments(self) -> Mapping[str, str]:
        """Return the arguments that each call of the Data API has in common.

        Examples:
            >>> dict(RedshiftConnection("dev", "atomic", "default", workgroup="events").arguments())
            {'Database': 'dev', 'WorkgroupName': 'events'}
        """
        given = {
            "Database": self.database,
            "WorkgroupName": self.workgroup,
            "ClusterIdentifier": self.cluster,
            "SecretArn": self.secret,
            "DbUser": self.user,
        }
        return {name: value for name, value in given.items() if value}


def _problems_of_names(of: RedshiftConnection) -> list[str]:
    # Redshift folds names to lower case, quoted ones too, and its catalog has them so.
    checked = (
        ("schema", of.schema, _SCHEMA, "lower-case letters, digits and underscores"),
        ("database", of.database, _NAME, "letters, digits and _ . @ + -"),
        ("workgroup", of.workgroup, _NAME, "letters, digits and hyphens"),
        ("cluster", of.cluster, _NAME, "letters, digits and hyphens"),
        ("user", of.user, _NAME, "letters, digits and _ . @ + -"),
        ("secret", of.secret, _SECRET, "the ARN or the name of a secret"),
        ("region", of.region, _REGION, "a region, such as eu-central-1"),
    )
    problems = [
        f"{kind} {value!r} is not a valid name: use {rule}"
        for kind, value, pattern, rule in checked
        if value is not None and not pattern.fullmatch(value)
    ]
    if of.role != DEFAULT_ROLE and not _ROLE.fullmatch(of.role):
        problems.append(f"role {of.role!r} is not valid: expected arn:aws:iam::ACCOUNT:role/NAME, or default")
    return problems


def _problems_of_choice(of: RedshiftConnection) -> list[str]:
    problems = []
    if bool(of.workgroup) == bool(of.cluster):
        problems.append("expected a workgroup or a cluster: name one of them")
    if of.user and of.secret:
        problems.append("expected a user or a secret, got both: name one of them")
    if of.user and of.workgroup:
        problems.append("expected a user for a cluster only: a workgroup takes the user from IAM")
    return problems
