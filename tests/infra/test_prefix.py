"""Every name has the prefix."""

from __future__ import annotations

from collections.abc import Callable

from support.hcl_text import expression, resources
from support.terraform import INFRA, Outcome

# Resources without a name of their own, or with a name within a resource that has the prefix.
UNNAMED = {
    "google_storage_notification",
    "google_bigquery_dataset",  # named by the user
    "google_bigquery_table",
    "google_project_service",
    "google_storage_bucket_object",
    "google_bigquery_dataset_access",
    "terraform_data",
}
IDENTITIES = ("account_id", "role_id", "repository_id", "dashboard_json", "display_name", "name")


def test_every_name_has_the_prefix(tested: Callable[[str], Outcome]) -> None:
    changes = tested("options.tftest.hcl").plans["all_options"].changes
    named = [one for one in changes if one["mode"] == "managed" and not one["type"].endswith("_iam_member")]
    found = {}
    for one in named:
        if one["type"] not in UNNAMED:
            after = one["change"]["after"]
            found[one["address"]] = next(str(after[name]) for name in IDENTITIES if after.get(name))
    assert len(found) > 40
    bare = {
        address: name
        for address, name in found.items()
        if not name.startswith(("eu-", "onefoldeu_", "my-project-eu-onefold-", '{"displayName":"eu-'))
    }
    assert bare == {}
    # The plan has a subnetwork that the user owns.
    for kind in ("network", "subnetwork", "firewall"):
        name = expression(resources(INFRA)[f"google_compute_{kind}.batches"], "name")
        assert name is not None
        assert name.startswith('"${var.prefix}onefold')
