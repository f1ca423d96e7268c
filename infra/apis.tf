# The APIs stay enabled after `terraform destroy`, since other systems of the project may use them by then.
resource "google_project_service" "api" {
  for_each = toset(var.enable_apis ? concat([
    "artifactregistry.googleapis.com",
    "bigquery.googleapis.com",
    "bigquerystorage.googleapis.com",
    "cloudbuild.googleapis.com",
    "cloudfunctions.googleapis.com",
    "cloudscheduler.googleapis.com",
    "compute.googleapis.com",
    "dataproc.googleapis.com",
    "dataprocrm.googleapis.com", # runtime 3.0 runs on it
    "iam.googleapis.com",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "pubsub.googleapis.com",
    "run.googleapis.com",
    "storage.googleapis.com",
    ],
    var.access_trigger == null ? [] : ["cloudidentity.googleapis.com"],
    var.kms_key == null ? [] : ["cloudkms.googleapis.com"],
    length(var.captures) == 0 && length(var.pulls) == 0 && length(var.streams) == 0 && length(local.registry_keys) == 0 && var.notify_schedule == null ? [] : ["secretmanager.googleapis.com"],
    length(var.streams) == 0 ? [] : ["datastream.googleapis.com"],
    var.column_readers == null ? [] : ["bigquerydatatransfer.googleapis.com"],
  ) : [])

  service            = each.value
  disable_on_destroy = false
}

data "google_project" "this" {
  project_id = var.project
}

locals {
  # The names of service agents, as Google forms them. The agent of Pub/Sub is created with the first topic, so rights are
  # granted to the agent after that.
  project_number = data.google_project.this.number
  agent          = "service-${local.project_number}"
  pubsub_agent   = "serviceAccount:${local.agent}@gcp-sa-pubsub.iam.gserviceaccount.com"
}
