# With a key of the user's own: the agents of the services that encrypt may use it, and only they. An agent that the
# project has not met yet must be made before: docs/how-to/deploy.md has the command.
locals {
  kms_agents = {
    artifactregistry = "${local.agent}@gcp-sa-artifactregistry.iam.gserviceaccount.com"
    cloudfunctions   = "${local.agent}@gcf-admin-robot.iam.gserviceaccount.com"
    compute          = "${local.agent}@compute-system.iam.gserviceaccount.com"    # the disks of batches,
    dataproc         = "${local.agent}@dataproc-accounts.iam.gserviceaccount.com" # and what is staged for them
    pubsub           = "${local.agent}@gcp-sa-pubsub.iam.gserviceaccount.com"
    run              = "${local.agent}@serverless-robot-prod.iam.gserviceaccount.com"
    storage          = "${local.agent}@gs-project-accounts.iam.gserviceaccount.com"
  }
}

resource "google_kms_crypto_key_iam_member" "agent" {
  for_each = var.kms_key == null ? {} : local.kms_agents

  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"

  # IAM keeps one right for all deployments with this key: docs/how-to/deploy.md says how one of them leaves it.
  lifecycle {
    prevent_destroy = true
  }
}
