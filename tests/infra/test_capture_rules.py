"""Rules of columns in onefold.yaml reach the processes that they are for, whose accounts may read the key of hashes."""

from __future__ import annotations

import yaml
from infra.test_validation import literal, written
from support.planned import containers
from support.settings_form import settings_in
from support.terraform import Plan, Terraform

from onefold.settings.captures import ColumnRules
from onefold.settings.environment import load_settings

IMAGE = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:" + "0" * 64
SECRET = "projects/my-project/secrets/hashes"
HASHES, DROPS = {"t": {"hash": ["mail"]}}, {"t": {"drop": ["pin"]}, '*${x}"': {"mask": ["note"]}}
RULES = {"shop-db": {"tables": HASHES}, "CRM": {"tables": HASHES, "hash_key": SECRET}, "drops": {"tables": DROPS}}
UNREADABLE = "  tight: {tables: {t: {drop:[pin]}}}\n"
"""Rules of one more source, without the space that Terraform's own reader of YAML needs."""
ONE = {"host": "10.0.0.3", "user": "u", "secret": "password", "dataset": "shop"}
VARIABLES = {
    "capture_image": IMAGE,
    "clean_views": ["shop"],
    "captures": {"shop-db": ONE, "crm-db": {**ONE, "source": "CRM"}, "drops": ONE, "tight": ONE, "plain": ONE},
}


def planned(terraform: Terraform, *others: str) -> Plan:
    """Plan with the rules, and with rules of other sources, which are a warning."""
    given = "\n".join(f"    {name} = {literal(value)}" for name, value in VARIABLES.items())
    path = terraform.folder / "tests" / "rules.tftest.hcl"
    warned = "  expect_failures = [check.rules_of_captures]\n" if others else ""
    path.write_text(f'{written([])}\nrun "rules" {{\n  command = plan\n{warned}  variables {{\n{given}\n  }}\n}}\n')
    rules = yaml.safe_dump({"captures": RULES | {name: {"tables": DROPS} for name in others}})
    try:
        with settings_in(terraform.folder.parent, f"{rules}{UNREADABLE}"):
            outcome = terraform.tested(path.name)
    finally:
        path.unlink()
    assert outcome.status == {"rules": "pass"}, outcome.said
    return outcome.plans["rules"]


def test_rules_and_the_right_on_their_key_reach_each_process(terraform: Terraform) -> None:
    plan = planned(terraform)
    found = {}
    for name, container in containers(plan).items():
        settings = load_settings({one["name"]: one["value"] for one in container["env"] if one.get("value")})
        found[name] = settings.captures
    assert {name: list(captures) for name, captures in found.items()} == {
        "shop-db": ["shop-db"],
        "crm-db": ["CRM"],
        "drops": ["drops"],
        "tight": ["tight"],
        "plain": [],
    }
    assert (found["crm-db"]["CRM"].hash_key, found["shop-db"]["shop-db"].hash_key) == (SECRET, None)
    assert found["tight"]["tight"].rules == (ColumnRules("t", drop=("pin",)),)
    assert set(found["drops"]["drops"].rules) == {ColumnRules("t", drop=("pin",)), ColumnRules('*${x}"', mask=("note",))}

    secrets = plan.of("google_secret_manager_secret_iam_member").values()
    assert [one["member"].partition("@")[0] for one in secrets if one["secret_id"] == "hashes"] == [
        "serviceAccount:capture-crm-db"
    ]
    (keys,) = (one for one in plan.of("google_bigquery_dataset").values() if one["dataset_id"] == "shop__keys")
    readers = sorted(one["user_by_email"].partition("@")[0] for one in keys["access"] if one.get("user_by_email"))
    assert readers == ["capture-shop-db", "onefold-batch", "onefold-refresh-view"]


def test_rules_of_a_source_that_is_not_captured_are_a_warning(terraform: Terraform) -> None:
    planned(terraform, "crm-db")  # the name of the entry, whose source is CRM
