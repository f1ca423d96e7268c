# With a key of the user, only the agents of the encrypting services may use the key. An agent that does not exist yet in
# the project must be created first: docs/how-to/second-deployment.md has the command.
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
  for_each = var.kms_key == null ? {} : merge(local.kms_agents, length(var.streams) == 0 ? {} : local.stream_kms_agents)

  crypto_key_id = var.kms_key
  role          = "roles/cloudkms.cryptoKeyEncrypterDecrypter"
  member        = "serviceAccount:${each.value}"

  # IAM has a single right for all deployments with this key: docs/how-to/second-deployment.md describes how to remove one of them.
  lifecycle {
    prevent_destroy = true
  }
}
