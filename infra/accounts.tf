locals {
  account_names = {
    refresh_view      = "Onefold: the function refresh_view"
    launch_batch      = "Onefold: the function launch_batch"
    push_refresh_view = "Onefold: pushes messages to refresh_view"
    push_launch_batch = "Onefold: pushes messages to launch_batch"
    sink_records      = "Onefold: the function sink_records"
    push_sink_records = "Onefold: pushes messages to sink_records"
    batch             = "Onefold: Spark batches"
    build             = "Onefold: builds the functions"
  }

  # E-mails by purpose: those given, and those made here.
  accounts = merge({ for name, account in google_service_account.account : name => account.email }, var.service_accounts)
}

resource "google_service_account" "account" {
  for_each = { for name, title in local.account_names : name => title if !contains(keys(var.service_accounts), name) }

  account_id   = "${var.prefix}onefold-${replace(each.key, "_", "-")}"
  display_name = each.value

  depends_on = [google_project_service.api]
}

# To run a query takes a job, and jobs belong to a project. This gives no right to any data.
resource "google_project_iam_member" "jobs" {
  for_each = toset(["refresh_view", "batch"])

  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = "serviceAccount:${local.accounts[each.value]}"
}

# launch_batch looks for a batch, creates one, and gives it the batches' account. Nothing else.
resource "google_project_iam_custom_role" "launch" {
  role_id     = "${local.role_prefix}_launch"
  title       = "Onefold: launches batches"
  permissions = ["dataproc.batches.create", "dataproc.batches.get", "dataproc.batches.list"]
}

resource "google_project_iam_member" "launch" {
  project = var.project
  role    = google_project_iam_custom_role.launch.name
  member  = "serviceAccount:${local.accounts["launch_batch"]}"
}

resource "google_service_account_iam_member" "launch" {
  service_account_id = "projects/${var.project}/serviceAccounts/${local.accounts["batch"]}"
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${local.accounts["launch_batch"]}"
}

# Opens sessions of the Storage Read API; what they may read, the datasets say.
resource "google_project_iam_member" "read_sessions" {
  project = var.project
  role    = "roles/bigquery.readSessionUser"
  member  = "serviceAccount:${local.accounts["batch"]}"
}

# What Dataproc's own machinery needs of a workload's account. The role holds rights on all buckets of the project, too,
# which the condition takes back but for the staging bucket. The code of batches is read by a right of its own (buckets.tf).
resource "google_project_iam_member" "worker" {
  project = var.project
  role    = "roles/dataproc.worker"
  member  = "serviceAccount:${local.accounts["batch"]}"

  condition {
    title       = "staging bucket only"
    description = "Everything but Cloud Storage, and of that the staging bucket."
    expression = join(" || ", [
      # The service and not its types: the role has rights on managed folders, too.
      # https://cloud.google.com/iam/docs/conditions-resource-attributes, 2026
      "resource.service != \"storage.googleapis.com\"",
      "resource.name == \"projects/_/buckets/${google_storage_bucket.staging.name}\"",
      "resource.name.startsWith(\"projects/_/buckets/${google_storage_bucket.staging.name}/\")",
    ])
  }
}

locals {
  function_sources = "projects/_/buckets/gcf-v2-sources-${data.google_project.this.number}-${var.region}"
}

# The build of the functions: in place of the default account, which new projects leave without rights and old ones
# with the rights of an editor.
resource "google_project_iam_member" "build" {
  for_each = {
    logs = { role = "roles/logging.logWriter", only = null }
    # Cloud Functions copies the source to a bucket of its own, which it makes with the first function.
    source = {
      role = "roles/storage.objectViewer"
      # In full: europe-west1 begins the names of europe-west10 and europe-west12, too. With a key of the user's own the name
      # goes on with a digest of the key. Cloud Run functions overview, https://cloud.google.com/run/docs/functions/overview, 2026.
      only = var.kms_key == null ? "resource.name == \"${local.function_sources}\" || resource.name.startsWith(\"${local.function_sources}/\")" : "resource.name.startsWith(\"${local.function_sources}-\")"
    }
  }

  project = var.project
  role    = each.value.role
  member  = "serviceAccount:${local.accounts["build"]}"

  dynamic "condition" {
    for_each = each.value.only == null ? [] : [each.value.only]
    content {
      title      = "sources of functions only"
      expression = condition.value
    }
  }
}

resource "google_artifact_registry_repository_iam_member" "build" {
  location   = google_artifact_registry_repository.images.location
  repository = google_artifact_registry_repository.images.repository_id
  role       = "roles/artifactregistry.writer"
  member     = "serviceAccount:${local.accounts["build"]}"
}
