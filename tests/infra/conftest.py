"""Plans of Terraform that several files of tests read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.terraform import EXACT, Outcome, Plan, Terraform

from onefold.settings.batches import DEFAULT_CONFIG


@pytest.fixture
def exact_plan(tested: Callable[[str], Outcome]) -> Plan:
    """Return the plan whose values are compared one by one."""
    return tested(EXACT).plans["exact"]


@pytest.fixture(scope="session")
def options_plan(terraform: Terraform) -> Plan:
    """Return the plan with every option, so that every variable has a value, and with a file of table settings."""
    config = terraform.folder.parent / DEFAULT_CONFIG
    config.write_text("tables: {customer: {keys: [id]}}\n")
    try:
        return terraform.tested("options.tftest.hcl").plans["all_options"]
    finally:
        config.unlink()


@pytest.fixture
def plain_plan(tested: Callable[[str], Outcome]) -> Plan:
    """Return the plan without options and without a file of table settings."""
    return tested("grants.tftest.hcl").plans["two_datasets"]
