"""The command `doctor`: what keeps Onefold from working here, each problem with the command that fixes it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.markup import escape

from onefold.cli.common import CHANGES, OK, as_json, given, project
from onefold.cli.output import echo_json, is_quiet
from onefold.core.errors import Rejected
from onefold.core.names import check_names
from onefold.core.text import counted

if TYPE_CHECKING:
    from onefold.adapters.google_project import GoogleProject
    from onefold.capture.requirements import CheckedPublisher
    from onefold.doctor.check import Check
    from onefold.doctor.examine import ExaminedWarehouse
    from onefold.ports.hash_keys import HashKeys

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@click.command()
@click.option("--dataset", "datasets", metavar="D", multiple=True, help="A dataset to check, besides ONEFOLD_DATASETS.")
@click.option("--prefix", metavar="P", default="", help="The prefix of the deployment whose accounts are checked.")
@project
@as_json
@click.pass_context
def doctor(context: click.Context, datasets: tuple[str, ...], prefix: str, project: str | None, as_json: bool) -> int:
    """Check this machine and the project: Python, Java, settings, credentials, APIs, datasets, topics, rights, emulators.

    Reports all problems, each with the command that fixes it, and changes nothing. Exits with 2 if there is a problem.
    """
    from onefold.doctor.examine import Examination, examine

    check_names([*(("dataset", name) for name in datasets), *given(("project", project))])
    console = Console(highlight=False, emoji=False)
    found = []
    for check in examine(Examination(os.environ, context.obj, project, datasets, prefix), GoogleClients()):
        found.append(check)
        if not as_json and (check.problems or not is_quiet()):
            _show(console, check)
    problems = sum(len(check.problems) for check in found)
    if as_json:
        echo_json([check.as_dict() for check in found])
    else:
        console.print(_summary(found), soft_wrap=True)
    return CHANGES if problems else OK


def _show(console: Console, check: Check) -> None:
    """Print a check on a line, and each problem on a line that is not wrapped, since commands in it are copied."""
    console.print(f"{_mark(check)} {escape(check.name)}{': ' if check.note else ''}{escape(check.note)}", soft_wrap=True)
    for problem in check.problems:
        console.print(f"        {escape(problem)}", soft_wrap=True)


def _mark(check: Check) -> str:
    return {"ok": "[green]ok[/]     ", "problem": "[red]problem[/]", "not checked": "[yellow]not checked[/]"}[check.state]


def _summary(found: Sequence[Check]) -> str:
    """Return the last line: what is not checked may have problems that nobody knows of."""
    problems = sum(len(check.problems) for check in found)
    left_out = [check.name for check in found if check.state == "not checked"]
    result = f"[red]{counted(problems, 'problem')}[/]" if problems else "[green]no problem was found[/]"
    return f"{result}[yellow]; not checked: {escape(', '.join(left_out))}[/]" if left_out else result


class GoogleClients:
    """Makes Google's clients, with the credentials of this process or for the emulators of the environment."""

    def __init__(self) -> None:
        self._warehouses: dict[str, ExaminedWarehouse] = {}

    def account(self) -> str:
        """Return the account of the credentials.

        Raises:
            Rejected: there are no credentials, or Google refuses them.
        """
        import google.auth
        from google.auth import exceptions
        from google.auth.transport.requests import Request

        from onefold.adapters.google_errors import no_credentials
        from onefold.core.identity import member

        try:
            credentials, _ = google.auth.default(scopes=[_SCOPE])
            credentials.refresh(Request())  # type: ignore[no-untyped-call]
        except exceptions.GoogleAuthError as error:
            raise Rejected(no_credentials(error)) from error
        return member(credentials)

    def warehouse(self, project: str) -> ExaminedWarehouse:
        from onefold.adapters.connect import connect

        if project not in self._warehouses:
            self._warehouses[project] = connect(project)
        return self._warehouses[project]

    def publisher(self, project: str) -> CheckedPublisher:
        from onefold.adapters.pubsub import PubSub

        return PubSub(project)

    def hash_keys(self, project: str) -> HashKeys:
        from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
        from onefold.adapters.connect import connect

        return BigQueryHashKeys(connect(project).client)

    def project(self, project: str) -> GoogleProject:
        import google.auth
        from google.auth.transport.requests import AuthorizedSession

        from onefold.adapters.google_project import GoogleProject

        credentials, _ = google.auth.default(scopes=[_SCOPE])
        return GoogleProject(project, AuthorizedSession(credentials))  # type: ignore[no-untyped-call]
