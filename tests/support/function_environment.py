"""The environment that Terraform sets for a function."""

from __future__ import annotations

from support.terraform import Plan


def environment(plan: Plan, function: str) -> dict[str, str]:
    (service,) = plan.of("google_cloudfunctions2_function")[f'function["{function}"]']["service_config"]
    return dict(service["environment_variables"])
