"""The commands of permissions as code: `access import`, `access plan` and `access apply`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from onefold.cli import access_report as report
from onefold.cli.common import CHANGES, ERROR, OK, as_json, given, project, raise_problems, read_settings, say
from onefold.cli.confirm import ask
from onefold.cli.output import echo_json
from onefold.cli.program import CommandGroup
from onefold.cli.table_arguments import dry_run_option
from onefold.core.errors import InvalidInput, OnefoldError
from onefold.core.names import check_names

if TYPE_CHECKING:
    from onefold.access.deployment import DeploymentGrants
    from onefold.access.plan import AccessPlan, AccessState
    from onefold.access.policy import AccessPolicy
    from onefold.cli.access_clients import AccessClients

_DEFAULT_FILE = "access.yaml"
_KEYS_SUFFIX = "__keys"
file = click.option(
    "--file",
    "path",
    metavar="FILE",
    default=_DEFAULT_FILE,
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The declared permissions.  [default: {_DEFAULT_FILE}]",
)
grants = click.option(
    "--grants",
    metavar="FILE",
    multiple=True,
    help="The deployment's own grants, as a file or gs:// address; several for several deployments.  "
    "[default: infra/PROJECT.grants.json]",
)
allow_writers = click.option(
    "--allow-writers", is_flag=True, help="Allow WRITER and OWNER on datasets of views, as allow_writers: true does."
)


@click.group(cls=CommandGroup)
def access() -> None:
    """Permissions as code: who may read and write datasets, and who is in a group."""


@access.command("import")
@click.argument("datasets", nargs=-1, metavar="[DATASET]...")
@click.option("--group", "groups", metavar="EMAIL", multiple=True, help="A group whose members are declared, too.")
@grants
@project
@as_json
@click.pass_context
def import_(
    context: click.Context, datasets: tuple[str, ...], groups: tuple[str, ...], grants: tuple[str, ...], project: str | None,
    as_json: bool,
) -> int:  # fmt: skip
    """Print an access.yaml that declares the present permissions of datasets and groups."""
    from onefold.access.draft import draft_policy, drafted, left_out
    from onefold.access.plan import read_state

    raise_problems([] if datasets or groups else ["expected the name of a dataset, or --group EMAIL"])
    check_names([*(("dataset", name) for name in datasets), *given(("project", project))])
    clients = _connect(context, project)
    lowered = [group.lower() for group in groups]
    state = read_state(set(datasets), set(lowered), clients.lists, clients.groups)
    own, problems = _found_grants(clients, grants)
    warnings = [f"{problem}; grants of the deployment are declared like any other" for problem in problems]
    warnings += left_out(state)
    if as_json:
        echo_json([drafted(state, own)], warnings=warnings)
        return OK
    for warning in warnings:
        say("yellow", f"Warning: {warning}")
    click.echo(draft_policy(state, own), nl=False)
    return OK


@access.command()
@file
@grants
@allow_writers
@click.option("--tables/--no-tables", default=True, help="Look for grants on single tables.  [default: --tables]")
@project
@as_json
@click.pass_context
def plan(
    context: click.Context,
    path: Path,
    grants: tuple[str, ...],
    allow_writers: bool,
    tables: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Show what apply would change, and which grants bypass the file. Exits with 2 if there are changes to make."""
    from onefold.access.bypasses import bypass_warnings

    found = _planned(context, path, grants, allow_writers, project)
    notes = [f"{problem}; apply refuses until then" for problem in found.problems]
    warnings = [*notes, *found.warnings, *bypass_warnings(found.clients.policies, sorted(found.policy.datasets), tables)]
    if as_json:
        echo_json(report.changes_as_dicts(found.plan), warnings=warnings)
    else:
        report.show(found.plan)
        for warning in warnings:
            say("yellow", f"Warning: {warning}")
    return OK if found.plan.is_empty else CHANGES


@access.command()
@file
@grants
@allow_writers
@click.option("--yes", is_flag=True, help="Do not ask before the first change.")
@dry_run_option
@project
@as_json
@click.pass_context
def apply(
    context: click.Context,
    path: Path,
    grants: tuple[str, ...],
    allow_writers: bool,
    yes: bool,
    dry_run: bool,
    project: str | None,
    as_json: bool,
) -> int:
    """Make datasets and groups as the file declares them. What is not declared is removed."""
    from onefold.access.apply import apply_plan

    needs_yes = as_json and not yes and not dry_run
    raise_problems(["--json needs --yes, since nobody can answer a question"] if needs_yes else [])
    found = _planned(context, path, grants, allow_writers, project)
    raise_problems([f"{problem}; nothing was changed" for problem in found.problems])
    if not as_json:
        report.show(found.plan)
    if not found.plan.is_empty and not yes and not dry_run:
        ask("Apply these changes?")
    failures = [] if dry_run else apply_plan(found.plan, found.clients.lists, found.clients.groups)
    errors = [f"{failure.subject}: {failure.error}" for failure in failures]
    for error in errors:
        say("red", f"Error: {error}")
    if as_json:
        echo_json(report.changes_as_dicts(found.plan), warnings=found.warnings, errors=errors)
    elif not found.plan.is_empty and not failures:
        click.echo("Nothing was written." if dry_run else "Applied.")
    return ERROR if failures else OK


@dataclass(frozen=True)
class _Planned:
    """A plan, with what it was made from.

    problems: why the grants of the deployment are not known; `apply` refuses then.
    """

    clients: AccessClients
    policy: AccessPolicy
    state: AccessState
    plan: AccessPlan
    problems: Sequence[str]

    @property
    def warnings(self) -> list[str]:
        from onefold.access.authorize import key_readers
        from onefold.access.plan import kept_entries

        keys = {name: declared for name, declared in self.policy.datasets.items() if name.endswith(_KEYS_SUFFIX)}
        readers = (warning for name, declared in sorted(keys.items()) for warning in key_readers(name, declared.grants))
        return [*kept_entries(self.state), *readers]


def _planned(
    context: click.Context, path: Path, grants: Sequence[str], allow_writers: bool, project: str | None
) -> _Planned:
    from onefold.access.plan import check_writers, plan_changes, read_state
    from onefold.access.policy import read_policy

    check_names(given(("project", project)))
    policy = read_policy(path)
    clients = _connect(context, project)
    own, problems = _found_grants(clients, grants)
    state = read_state(policy.datasets, policy.groups, clients.lists, clients.groups)
    check_writers(policy, state, own, clients.project, allow_writers)
    return _Planned(clients, policy, state, plan_changes(policy, state, own), problems)


def _found_grants(clients: AccessClients, files: Sequence[str]) -> tuple[list[DeploymentGrants], list[str]]:
    """Return the grants of the deployments, and a problem for each file that is missing, wrong or older than its state."""
    from onefold.access.deployment import read_grants

    own, problems = [], []
    for name in files or [f"infra/{clients.project}.grants.json"]:
        try:
            found = read_grants(clients.content(name), name, clients.project)
            own.append(found)  # an old file still tells most of the grants, for a plan
            found.check_fresh(clients.state(found.state))
        except OnefoldError as error:
            problems.append(str(error))
    return own, problems


def _connect(context: click.Context, project: str | None) -> AccessClients:
    from onefold.cli.access_clients import AccessClients

    name = project or read_settings(context).project
    if not name:
        raise InvalidInput("expected a project: give --project, or set ONEFOLD_PROJECT")
    return AccessClients(name)
