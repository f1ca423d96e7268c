# Permissions as code, and the services that write into datasets themselves: docs/how-to/permissions-as-code.md.
locals {
  writers = merge([
    for dataset, emails in var.writers : { for email in emails : "${dataset} ${email}" => { dataset = dataset, email = email } }
  ]...)
  access_account = "${var.prefix}onefold-access"

  # The datasets of views that this deployment makes: people get their rights there by access.yaml, too.
  made_datasets = merge(
    { for key, pulled in local.pulled : pulled.views => google_bigquery_dataset.full[key].dataset_id },
    { for name in local.clean_views : "${name}__views_clean" => google_bigquery_dataset.clean[name].dataset_id },
    { for dataset, plain in local.plain_datasets : plain => google_bigquery_dataset.plain[dataset].dataset_id },
  )
}

# A direct writer has WRITER on one dataset, and no right anywhere else.
resource "google_bigquery_dataset_iam_member" "writers" {
  for_each = local.writers

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = "roles/bigquery.dataEditor"
  member     = "serviceAccount:${each.value.email}"
}

resource "google_service_account" "access" {
  count = var.access_trigger == null ? 0 : 1

  account_id   = local.access_account
  display_name = "Onefold: applies access.yaml"

  depends_on = [google_project_service.api]
}

# The rights to read and change who may do what with a dataset. None of them reads or writes a table, though whoever has them
# can grant that: the account runs what the main branch says, and nothing else.
resource "google_project_iam_custom_role" "access" {
  count = var.access_trigger == null ? 0 : 1

  role_id = "${local.role_prefix}_access"
  title   = "Onefold: applies access.yaml"
  permissions = [
    "bigquery.datasets.get",
    "bigquery.datasets.getIamPolicy",
    "bigquery.datasets.setIamPolicy",
    "bigquery.datasets.update",
    "bigquery.tables.getIamPolicy",
    "bigquery.tables.list",
  ]
}

# A plan warns of grants that bypass the lists of datasets: those of the project, whose roles may be its own, and of tables.
resource "google_project_iam_custom_role" "access_bypasses" {
  count = var.access_trigger == null ? 0 : 1

  role_id     = "${local.role_prefix}_access_bypasses"
  title       = "Onefold: sees who may do what in the project"
  permissions = ["iam.roles.get", "resourcemanager.projects.getIamPolicy"]
}

resource "google_project_iam_member" "access_bypasses" {
  count = var.access_trigger == null ? 0 : 1

  project = var.project
  role    = google_project_iam_custom_role.access_bypasses[0].name
  member  = "serviceAccount:${google_service_account.access[0].email}"
}

resource "google_bigquery_dataset_iam_member" "access" {
  for_each = var.access_trigger == null ? {} : merge(
    { for name in local.all_datasets : name => data.google_bigquery_dataset.named[name].dataset_id },
    local.made_datasets,
  )

  dataset_id = each.value
  role       = google_project_iam_custom_role.access[0].name
  member     = "serviceAccount:${google_service_account.access[0].email}"
}

resource "google_project_iam_member" "access" {
  count = var.access_trigger == null ? 0 : 1

  project = var.project
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.access[0].email}"
}

# The grants of this deployment, and the number of the state that they were read from.
resource "google_storage_bucket_iam_member" "access" {
  count = var.access_trigger == null ? 0 : 1

  bucket = module.typed.access_trigger.state_bucket
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${google_service_account.access[0].email}"

  condition {
    title       = "state of this deployment only"
    description = "Terraform's state, and the file of grants beside it."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.typed.access_trigger.state_bucket}/objects/${var.prefix}onefold/\")"
  }
}

resource "google_cloudbuild_trigger" "access" {
  count = var.access_trigger == null ? 0 : 1

  name            = "${var.prefix}onefold-access"
  description     = "Applies access.yaml when the main branch changes it."
  location        = var.region
  filename        = "cloudbuild.access.yaml"
  included_files  = [module.typed.access_trigger.file]
  service_account = google_service_account.access[0].id

  repository_event_config {
    repository = module.typed.access_trigger.repository
    push {
      branch = "^${module.typed.access_trigger.branch}$"
    }
  }

  substitutions = {
    _STATE  = module.typed.access_trigger.state_bucket
    _PREFIX = var.prefix
    _FILE   = module.typed.access_trigger.file
    _MAIN   = module.typed.access_trigger.branch
  }

  depends_on = [google_bigquery_dataset_iam_member.access, google_storage_bucket_iam_member.access]
}
