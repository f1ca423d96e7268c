"""The environment that Terraform sets for a function."""

from __future__ import annotations

from support.terraform import Plan


def environment(plan: Plan, function: str) -> dict[str, str]:
    address = "registry[0]" if function == "schema_registry" else f'function["{function}"]'
    (service,) = plan.of("google_cloudfunctions2_function")[address]["service_config"]
    return dict(service["environment_variables"])
