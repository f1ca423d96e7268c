"""Review of a Terraform plan: list revoked rights, resources that are destroyed or replaced, and who else can use the views.

`python -m infra.review plan.json [--ask | --allow]` exits with 0 if the plan removes nothing or the removal was confirmed,
and with 2 if it was not confirmed. Grants of others on datasets of views are listed only: no deployment changes them.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_GRANTS = ("_iam_member", "google_bigquery_dataset_access")
# Every deployment replaces these resources, because of new content or a new digest. No data is lost with them.
_RENEWED = ("google_storage_bucket_object", "terraform_data", "aws_s3_object")

_VIEWS = ("__views_full", "__views_clean")
_ROLES = {"OWNER": "roles/bigquery.dataOwner", "WRITER": "roles/bigquery.dataEditor", "READER": "roles/bigquery.dataViewer"}
_OWNERS = ("projectOwners", _ROLES["OWNER"])
# The fields of an entry that name somebody, in the provider and in the API.
_FIELDS = {
    "special_group": "specialGroup",
    "iam_member": "iamMember",
    "domain": "domain",
    "group_by_email": "groupByEmail",
    "user_by_email": "userByEmail",
}
_CHOSEN = ("groupByEmail", "userByEmail")


def taken_away(plan: Mapping[str, Any]) -> list[str]:
    """Return a line for every right that is revoked, and every resource that is destroyed or replaced."""
    lines = []
    for change in plan.get("resource_changes", ()):
        actions, type_ = change["change"]["actions"], change["type"]
        if "delete" not in actions or type_ in _RENEWED:
            continue
        replaced = "create" in actions
        if type_.endswith(_GRANTS):
            lines += [] if replaced else [f"revokes {change['address']}{_whose(change['change'].get('before') or {})}"]
        else:
            lines.append(f"{'replaces' if replaced else 'destroys'} {change['address']}{_because(change['change'])}")
    return sorted(lines)


def _whose(before: Mapping[str, Any]) -> str:
    return f": {before['role']} of {before['member']}" if before.get("role") and before.get("member") else ""


def _because(change: Mapping[str, Any]) -> str:
    """Return the attributes that cannot be changed in place, as `name from "a" to "b"`."""
    before, after = change.get("before") or {}, change.get("after") or {}
    names = [path[0] for path in change.get("replace_paths", ()) if len(path) == 1]
    changes = [f"{name} from {json.dumps(before.get(name))} to {json.dumps(after.get(name))}" for name in names]
    return f" ({', '.join(changes)})" if changes else ""


def granted_by_others(plan: Mapping[str, Any]) -> list[str]:
    """Return a line for every grant of others on a dataset of views, with the command that removes it.

    Groups that nobody chose by name, such as those who may view the project, come first.
    """
    own = set(_own_grants(plan))
    found = {grant for grant in _grants_on_views(plan) if (grant.dataset, grant.role, grant.name) not in own}
    return [grant.line() for grant in sorted(found) if (grant.name, grant.role) != _OWNERS]


@dataclass(frozen=True, order=True)
class _Grant:
    """An entry of the access list of a dataset.

    Attributes:
        chosen: somebody is named, and not a group that the project has anyway, everybody or a domain.
        dataset: the dataset.
        name: who may use it.
        role: the role, by its name in IAM.
        listed: the role, as the list has it.
        field: the field of the API that names who may use it.
        project: the project of the dataset.
    """

    chosen: bool
    dataset: str
    name: str
    role: str
    listed: str
    field: str
    project: str

    def line(self) -> str:
        # bq keeps conditions, and writes nothing if somebody else has written meanwhile. REVOKE of SQL knows no group of a
        # project. https://cloud.google.com/bigquery/docs/control-access-to-resources-iam, read 2026
        where = f"{self.project}:{self.dataset}"
        entry = f".role == {json.dumps(self.listed)} and .{self.field} == {json.dumps(self.name)}"
        return (
            f"{self.dataset}: {self.role} of {self.name}; to remove it: bq show --format=json {where} | "
            f"jq {shlex.quote(f'del(.access[] | select({entry}))')} > access.json && bq update --source=access.json {where}"
        )


def _own_grants(plan: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield dataset, role and name of every grant on a dataset that Terraform keeps."""
    for change in plan.get("resource_changes", ()):
        grant = change["change"].get("after") or {}
        if change["type"] == "google_bigquery_dataset_iam_member" and grant.get("member"):
            yield grant["dataset_id"], grant["role"], grant["member"].partition(":")[2]


def _grants_on_views(plan: Mapping[str, Any]) -> Iterator[_Grant]:
    """Yield the grants on every dataset of views that is there and stays."""
    for change in plan.get("resource_changes", ()):
        before, after = change["change"].get("before") or {}, change["change"].get("after")
        if change["type"] == "google_bigquery_dataset" and after and before.get("dataset_id", "").endswith(_VIEWS):
            for entry in before.get("access") or ():
                yield from _grant(before, entry)


def _grant(dataset: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[_Grant]:
    """Yield the grant of an entry; an authorized view or dataset is none."""
    # A reader that does not know conditions gets a mark behind the role.
    role = (entry.get("role") or "").partition("_withcond_")[0]
    for own, field in _FIELDS.items():
        if name := entry.get(own):
            yield _Grant(
                field in _CHOSEN, dataset["dataset_id"], name, _ROLES.get(role, role), role, field, dataset["project"]
            )


def main(argv: Sequence[str]) -> int:
    """Run the command line and return the exit code.

    Args:
        argv: the path of the plan as JSON, and `--ask` or `--allow`.
    """
    plan = json.loads(Path(argv[0]).read_text() or "{}")
    if others := granted_by_others(plan):
        title = "others may use these datasets of views, by grants that this deployment did not make and leaves alone:"
        sys.stdout.write("".join(f"  {line}\n" for line in [title, *others]))
    lines = taken_away(plan)
    if not lines:
        return 0
    sys.stdout.write("".join(f"  {line}\n" for line in ["this plan takes away:", *lines]))
    if "--allow" in argv:
        return 0
    if "--ask" in argv and input("Only 'yes' goes on: ") == "yes":
        return 0
    sys.stdout.write("nothing was applied: name every dataset and option that is to stay, or agree to the list above\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
