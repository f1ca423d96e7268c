"""Terraform refuses a checked form that is not that of onefold.yaml: rules of capture must not be lost in silence."""

from __future__ import annotations

from pathlib import Path

import pytest
from infra.test_validation import written
from support.settings_form import write_settings
from support.terraform import ROOT, Terraform

from onefold.settings.checked_form import form_of
from onefold.settings.checking import checked_text

RULES = "captures: {shop: {tables: {customer: {drop: [password]}}}}\n"
CONFIG = "onefold.yaml"


def without_a_form(folder: Path) -> None:
    (folder / CONFIG).write_text(RULES)


def of_another_file(folder: Path) -> None:
    write_settings(folder, RULES.replace("password", "pin"))
    (folder / CONFIG).write_text(RULES)


def left_over(folder: Path) -> None:
    write_settings(folder, RULES)
    (folder / CONFIG).unlink()


def damaged(folder: Path) -> None:
    write_settings(folder, RULES)
    form_of(folder / CONFIG).write_text("{")


def that_leads_nowhere(folder: Path) -> None:
    (folder / CONFIG).symlink_to("nowhere")


STATES = (without_a_form, of_another_file, left_over, damaged, that_leads_nowhere)


@pytest.fixture
def runs(tmp_path: Path) -> str:
    """A run of a plan for each state of the files; and one that targets a resource, as a person in a hurry does."""
    found = []
    for state in STATES:
        folder = tmp_path / state.__name__
        folder.mkdir()
        state(folder)
        for name, options in (("plan", ""), ("target", "  plan_options {\n    target = [google_pubsub_topic.topic]\n  }\n")):
            found.append(
                f'run "{state.__name__}_{name}" {{\n  command = plan\n{options}'
                f'  variables {{\n    settings_folder = "{folder}"\n  }}\n  expect_failures = [var.settings_folder]\n}}\n'
            )
    return "\n".join(found)


def test_no_plan_is_made_of_settings_that_are_not_the_checked_ones(terraform: Terraform, runs: str) -> None:
    path = terraform.folder / "tests" / "settings_refused.tftest.hcl"
    path.write_text(f"{written([])}\n{runs}")
    try:
        outcome = terraform.tested(path.name)
    finally:
        path.unlink()
    expected = {f"{state.__name__}_{name}": "pass" for state in STATES for name in ("plan", "target")}
    assert outcome.status == expected, outcome.said


@pytest.mark.parametrize("folder", ["", "longest"])
def test_the_settings_of_terraforms_own_tests_are_checked_ones(folder: str) -> None:
    path = ROOT / "infra" / "tests" / "settings" / folder / CONFIG
    assert form_of(path).read_text() == checked_text(path)
