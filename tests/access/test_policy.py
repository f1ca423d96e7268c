"""access.yaml: what it says, and every problem of it at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onefold.access.policy import AccessPolicy, read_policy
from onefold.core.errors import InvalidPolicy
from onefold.ports.access import Condition, Grant


def read(folder: Path, text: str) -> AccessPolicy:
    path = folder / "access.yaml"
    path.write_text(text)
    return read_policy(path)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InvalidPolicy) as refused:
        read(folder, text)
    return [problem.partition("access.yaml:")[2] for problem in refused.value.problems]


def test_roles_conditions_and_members_are_read(tmp_path: Path) -> None:
    policy = read(
        tmp_path,
        """
        datasets:
          shop:
            projectOwners: OWNER
            group:Analysts@Example.com: [roles/bigquery.dataViewer, roles/bigquery.metadataViewer]
            user:ada@example.com:
              role: WRITER
              expression: request.time < timestamp("2027-01-01T00:00:00Z")
              title: until 2027
          shop__views_clean:
            allow_writers: true
            serviceAccount:etl@my-project.iam.gserviceaccount.com: OWNER
        groups:
          Analysts@example.com: [Ada@example.com, grace@example.com]
          empty@example.com: []
        """,
    )
    assert policy.datasets["shop"].grants == {
        Grant("projectOwners", "OWNER"),
        Grant("group:analysts@example.com", "READER"),
        Grant("group:analysts@example.com", "roles/bigquery.metadataViewer"),
        Grant("user:ada@example.com", "WRITER", Condition('request.time < timestamp("2027-01-01T00:00:00Z")', "until 2027")),
    }
    assert (policy.datasets["shop"].allow_writers, policy.datasets["shop__views_clean"].allow_writers) == (False, True)
    assert policy.groups == {
        "analysts@example.com": {"ada@example.com", "grace@example.com"},
        "empty@example.com": frozenset(),
    }


def test_all_problems_are_reported_at_once(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        """
        allow_writers: true
        datasets:
          bad-name: {projectOwners: OWNER}
          shop: {user:ada@example.com: reader, ada@example.com: READER, 'user:etl@p.iam.gserviceaccount.com': READER}
          crm: {allow_writers: 'yes', projectOwners: {role: OWNER, expression: 'false'}}
        groups:
          analysts: [user:ada@example.com]
          data@example.com: ada@example.com
        """,
    )
    expected = [
        "2: allow_writers: not a setting here, but below datasets.NAME; known are datasets, groups",
        "4: datasets.bad-name: dataset 'bad-name' is not a valid name: use letters, digits and underscores",
        "5: datasets.shop.user:ada@example.com: expected a role: OWNER, WRITER, READER, or a full name",
        "5: datasets.shop.ada@example.com: 'ada@example.com' is not a principal",
        "write serviceAccount:etl@p.iam.gserviceaccount.com",
        "5: datasets.shop: nobody is OWNER without a condition",
        "6: datasets.crm.allow_writers: expected true or false, got 'yes'",
        "datasets.crm: nobody is OWNER without a condition",
        "8: groups.analysts: expected the e-mail address of a group, got 'analysts'",
        "8: groups.analysts[0]: expected an e-mail address, without user: or group:, got 'user:ada@example.com'",
        "9: groups.data@example.com: expected a list of e-mail addresses",
    ]
    assert [text for text in expected if not any(text in problem for problem in found)] == []
    assert len(found) == len(expected), found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "expected at least one dataset or group"),
        ("datasets: {}", "expected at least one dataset or group"),
        ("[shop]", "expected a mapping, got a list"),
        ("datasets: [shop]", "datasets: expected a mapping"),
        ("datasets: {shop: {projectOwners: OWNER, projectOwners: READER}}", "is given twice"),
        ("datasets: {shop: {user:a@x.com: OWNER, user:A@x.com: READER}}", "user:a@x.com is given twice; case makes no"),
        ("datasets: {shop: {projectOwners: [OWNER, roles/bigquery.dataOwner]}}", "OWNER is given twice"),
        ("datasets: {shop: {projectOwners: OWNER, allUsers: {role: READER, title: t}}}", "expression: missing"),
        (
            "datasets: {shop: {projectOwners: OWNER, allUsers: {role: READER, if: x}}}",
            "allUsers.if: not a setting; known are description, expression, role",
        ),
        ("datasets: {shop: {projectOwners: OWNER, allUsers: }}", "expected a role"),
        ("datasets: {shop: {projectOwners: OWNER, allUsers: []}}", "expected at least one role"),
        ("datasets: {shop: {projectOwners: OWNER, 'deleted:user:a@x.com?uid=1': READER}}", "is not a principal"),
        ("datasets: {shop: {projectOwners: OWNER, 'serviceAccount:a@x.com': READER}}", "write user or group:a@x.com"),
        ("datasets: {shop: {projectOwners: OWNER, 'domain:a': READER}}", "expected a domain after domain:"),
        ("groups: {g@x.com: [a@x.com, A@x.com]}", "a@x.com is given twice"),
        ("groups: {g@x.com: [], G@x.com: []}", "g@x.com is given twice"),
        ("datasets: {shop: {projectOwners: OWNER}}\ngroups: {g@x.com: }", "groups.g@x.com: expected a list"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    assert any(problem in found for found in problems(tmp_path, text)), problems(tmp_path, text)


def test_a_file_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy, match="cannot be read"):
        read_policy(tmp_path / "access.yaml")


def test_the_examples_of_the_documentation_are_valid(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "reference" / "access-yaml.md").read_text()
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    policy = read(tmp_path, text)
    assert set(policy.datasets) == {"shop", "shop__views_clean"}
    assert policy.datasets["shop__views_clean"].allow_writers
