"""Plans of Terraform that several files of tests read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.settings_form import settings_in
from support.terraform import EVERYTHING, Outcome, Plan, Terraform


@pytest.fixture
def plan(tested: Callable[[str], Outcome]) -> Plan:
    """Return the plan of all that can be deployed."""
    return tested(EVERYTHING).plans["everything"]


@pytest.fixture(scope="session")
def options_plan(terraform: Terraform) -> Plan:
    """Return the plan with every option, so that every variable has a value, and with a file of table settings."""
    with settings_in(terraform.folder.parent, "tables: {customer: {keys: [id]}}\n"):
        return terraform.tested("options.tftest.hcl").plans["all_options"]


@pytest.fixture
def plain_plan(tested: Callable[[str], Outcome]) -> Plan:
    """Return the plan without options and without a file of table settings."""
    return tested("grants.tftest.hcl").plans["two_datasets"]
