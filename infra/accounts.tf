locals {
  account_names = merge({
    refresh_view                                            = "Onefold: the function refresh_view"
    launch_batch                                            = "Onefold: the function launch_batch"
    push_refresh_view                                       = "Onefold: pushes messages to refresh_view"
    push_launch_batch                                       = "Onefold: pushes messages to launch_batch"
    sink_records                                            = "Onefold: the function sink_records"
    push_sink_records                                       = "Onefold: pushes messages to sink_records"
    batch                                                   = "Onefold: Spark batches"
    build                                                   = "Onefold: builds the functions"
    }, var.schema_registry == null ? {} : { schema_registry = "Onefold: the function schema_registry" }, var.events == null ? {} : {
    load_shredded                                           = "Onefold: the function load_shredded"
    push_load_shredded                                      = "Onefold: pushes messages to load_shredded"
    }, var.pages_schedule == null ? {} : {
    write_pages      = "Onefold: the function write_pages"
    push_write_pages = "Onefold: pushes messages to write_pages"
  })

  # The id of an account has 30 characters at most ("Create service accounts", https://cloud.google.com/iam/docs/service-accounts-create,
  # read 2026). A longer one is cut, and ends in a digest of all of it.
  long_account_ids = { for name in keys(local.account_names) : name => "${var.prefix}onefold-${replace(name, "_", "-")}" }
  account_ids = {
    for name, id in local.long_account_ids : name => length(id) <= 30 ? id : "${substr(id, 0, 25)}-${substr(sha256(id), 0, 4)}"
  }

  # The e-mail of each account by its purpose: given by the user, or created here.
  accounts = merge({ for name, account in google_service_account.account : name => account.email }, var.service_accounts)
}

resource "google_service_account" "account" {
  for_each = { for name, title in local.account_names : name => title if !contains(keys(var.service_accounts), name) }

  account_id   = local.account_ids[each.key]
  display_name = each.value

  depends_on = [google_project_service.api]
}

# A query needs the right to create jobs in the project. The right gives no access to data.
resource "google_project_iam_member" "jobs" {
  for_each = toset(concat(["refresh_view", "batch"], local.has_events ? ["load_shredded"] : [], local.has_pages ? ["write_pages"] : []))

  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = "serviceAccount:${local.accounts[each.value]}"
}

# launch_batch reads and creates batches, and lets them run as the account of batches. It has no other right.
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

# The right to open sessions of the Storage Read API. Which tables they may read follows from the rights on datasets.
resource "google_project_iam_member" "read_sessions" {
  project = var.project
  role    = "roles/bigquery.readSessionUser"
  member  = "serviceAccount:${local.accounts["batch"]}"
}

# A condition for the name of a staging bucket.
locals {
  staging_only = join(" || ", [
    # The condition tests the service, not resource types, since the role also has rights on managed folders.
    # https://cloud.google.com/iam/docs/conditions-resource-attributes, 2026
    "resource.service != \"storage.googleapis.com\"",
    "resource.name == \"projects/_/buckets/%[1]s\"",
    "resource.name.startsWith(\"projects/_/buckets/%[1]s/\")",
  ])
}

# Dataproc requires this role for the account of a batch. The role includes rights on all buckets of the project, which the
# condition restricts to the staging bucket. A separate right allows reading the code of batches (buckets.tf).
resource "google_project_iam_member" "worker" {
  project = var.project
  role    = "roles/dataproc.worker"
  member  = "serviceAccount:${local.accounts["batch"]}"

  condition {
    title       = "staging bucket only"
    description = "Everything except Cloud Storage, and the staging bucket."
    expression  = format(local.staging_only, module.buckets.names["staging"])
  }
}

locals {
  function_sources = "projects/_/buckets/gcf-v2-sources-${data.google_project.this.number}-${var.region}"
}

# The account that builds the functions. The default account has no rights in new projects, and those of an editor in old
# ones.
resource "google_project_iam_member" "build" {
  for_each = {
    logs = { role = "roles/logging.logWriter", only = null }
    # Cloud Functions copies the source to a bucket of its own, which it creates with the first function.
    source = {
      role = "roles/storage.objectViewer"
      # The whole name: europe-west1 is a prefix of europe-west10 and europe-west12, too. With a key of the user the name
      # ends in a digest of the key. Cloud Run functions overview, https://cloud.google.com/run/docs/functions/overview, 2026.
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
