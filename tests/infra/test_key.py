"""The rights on a key of the user's own through a real plan: another deployment may have the same key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from infra.test_apply import OVERRIDE, VARIABLES
from support.terraform import found_terraform

ADDRESS = "google_kms_crypto_key_iam_member.agent"
KEY = "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"
ROLE = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
AGENT = "serviceAccount:service-1@gcp-sa-pubsub.iam.gserviceaccount.com"


def state() -> str:
    """As a deployment with the key leaves it, for one agent."""
    attributes = {"id": f"{KEY}/{ROLE}/{AGENT}", "crypto_key_id": KEY, "role": ROLE, "member": AGENT, "condition": []}
    instance = {"index_key": "pubsub", "schema_version": 0, "attributes": attributes}
    type_, _, name = ADDRESS.partition(".")
    provider = 'provider["registry.terraform.io/hashicorp/google"]'
    resource = {"mode": "managed", "type": type_, "name": name, "provider": provider, "instances": [instance]}
    return json.dumps({"version": 4, "serial": 1, "lineage": "test", "outputs": {}, "resources": [resource]})


@pytest.mark.long
def test_a_deployment_that_leaves_its_key_revokes_no_right_on_the_key(tmp_path: Path) -> None:
    terraform = found_terraform(tmp_path, OVERRIDE.format(refresh_view="http://x/", nobody="http://x/"))
    (terraform.folder / "terraform.tfstate").write_text(state())
    words = ("-input=false", "-no-color", "-refresh=false", *VARIABLES, f"-target={ADDRESS}")
    left = terraform.run("plan", *words, GOOGLE_OAUTH_ACCESS_TOKEN="none")
    assert (left.returncode, "Instance cannot be destroyed" in left.stderr) == (1, True), left.stdout + left.stderr
    # What docs/how-to/deploy.md says.
    assert terraform.run("state", "rm", ADDRESS).returncode == 0
    again = terraform.run("plan", "-detailed-exitcode", *words, GOOGLE_OAUTH_ACCESS_TOKEN="none")
    assert again.returncode == 0, again.stdout + again.stderr
