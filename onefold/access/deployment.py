"""The grants of the deployment itself, which access.yaml does not declare: a file that `make deploy` writes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from onefold.core.errors import InvalidPolicy
from onefold.core.text import reason_of
from onefold.ports.access import Condition, Grant, normal_principal, normal_role

_DEPLOY = "run `make deploy` again, which writes the file"


@dataclass(frozen=True)
class DeploymentGrants:
    """The rights on datasets that Terraform has granted.

    Attributes:
        grants: (dataset, grant) pairs.
        views: the datasets of views that may read other datasets.
        state: the address of Terraform's state, gs://BUCKET/NAME.
        lineage: the identity of the state.
        serial: the number of the state that the grants were read from.
    """

    grants: frozenset[tuple[str, Grant]]
    views: frozenset[str]
    state: str
    lineage: str
    serial: int

    def has(self, dataset: str, grant: Grant) -> bool:
        """Return whether the deployment has made a grant; titles of conditions do not matter."""
        return _comparable(grant) in {_comparable(own) for name, own in self.grants if name == dataset}

    def check_fresh(self, state: bytes | None) -> None:
        """Check that the file was written from the present state.

        Args:
            state: the content of Terraform's state; None where there is none.

        Raises:
            InvalidPolicy: the state is missing, or another one.
        """
        content = _object(state or b"", self.state)
        found = content.get("lineage"), content.get("serial")
        if found != (self.lineage, self.serial):
            raise InvalidPolicy(
                f"the grants of the deployment were written from state {self.serial} of {self.state}, which is at "
                f"{found[1]} now{'' if found[0] == self.lineage else ', and is the state of another deployment'}: {_DEPLOY}"
            )


def read_grants(data: bytes, name: str, project: str) -> DeploymentGrants:
    """Read the file that `make deploy` writes.

    Args:
        data: the content of the file.
        name: the path or address of the file, for errors.
        project: the project whose datasets are changed.

    Raises:
        InvalidPolicy: the file is incomplete, or belongs to another project.
    """
    content = _object(data, name)
    if content.get("project") != project:
        raise InvalidPolicy(
            f"{name} holds the grants of project {content.get('project')!r}, expected {project}: name its file"
        )
    try:
        return DeploymentGrants(
            frozenset((str(grant["dataset"]), _grant(grant)) for grant in content["grants"]),
            frozenset(map(str, content["views"])),
            str(content["state"]),
            str(content["lineage"]),
            int(content["serial"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidPolicy(
            f"{name}: expected project, grants, views, state, lineage and serial, got a part: {_DEPLOY}"
        ) from error


def _object(data: bytes, name: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except ValueError as error:
        raise InvalidPolicy(f"{name} cannot be read as JSON ({reason_of(error)}): {_DEPLOY}") from error
    if not isinstance(content, dict):
        raise InvalidPolicy(f"{name}: expected a JSON object: {_DEPLOY}")
    return content


def _grant(content: dict[str, Any]) -> Grant:
    expression = content.get("condition") or ""
    return Grant(
        normal_principal(content["member"]), normal_role(content["role"]), Condition(expression) if expression else None
    )


def _comparable(grant: Grant) -> tuple[str, str, str]:
    return grant.principal, grant.role, grant.condition.expression if grant.condition else ""
