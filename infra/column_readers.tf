# A daily job that finds out who reads each column. Its account sees metadata and the texts of queries, and reads no row.
locals {
  column_readers = { for name in var.column_readers == null ? [] : ["readers"] : name => module.typed.column_readers }
}

resource "google_service_account" "readers" {
  for_each = local.column_readers

  account_id   = "${var.prefix}onefold-readers"
  display_name = "Onefold: finds out who reads each column"

  depends_on = [google_project_service.api]
}

# The log of jobs has the queries of everybody: bigquery.jobs.listAll. Views may lie in any dataset of the project.
resource "google_project_iam_custom_role" "readers" {
  for_each = local.column_readers

  role_id = "${local.role_prefix}_readers"
  title   = "Onefold: finds out who reads each column"
  permissions = concat(
    local.metadata_permissions,
    ["bigquery.datasets.get", "bigquery.jobs.create", "bigquery.jobs.listAll", "bigquery.transfers.get"],
  )
}

resource "google_project_iam_member" "readers" {
  for_each = local.column_readers

  project = var.project
  role    = google_project_iam_custom_role.readers[each.key].name
  member  = "serviceAccount:${google_service_account.readers[each.key].email}"
}

resource "google_project_iam_member" "readers_log" {
  for_each = local.column_readers

  project = var.project
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.readers[each.key].email}"
}

# A test holds the columns against those that the code writes.
resource "google_bigquery_table" "readers" {
  #checkov:skip=CKV_GCP_80:its dataset has a key for new tables, where var.kms_key names one
  #checkov:skip=CKV_GCP_121:each run writes all of it anew
  for_each = local.column_readers

  dataset_id          = google_bigquery_dataset.changes[0].dataset_id
  table_id            = "schema_column_readers"
  description         = "Who reads each column, by kind and number: the rows of each run; onefold changes readers shows the newest."
  labels              = var.labels
  schema              = file("${path.module}/schema_column_readers.json")
  deletion_protection = false

  time_partitioning {
    type          = "DAY"
    field         = "collected_at"
    expiration_ms = 400 * 24 * 60 * 60 * 1000
  }
}

# On this table alone: the ledger in the same dataset is written by refresh_view only. What a run has written it shows at its end.
resource "google_project_iam_custom_role" "readers_rows" {
  for_each = local.column_readers

  role_id     = "${local.role_prefix}_readers_rows"
  title       = "Onefold: appends who reads each column"
  permissions = ["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData"]
}

resource "google_bigquery_table_iam_member" "readers" {
  for_each = local.column_readers

  dataset_id = google_bigquery_table.readers[each.key].dataset_id
  table_id   = google_bigquery_table.readers[each.key].table_id
  role       = google_project_iam_custom_role.readers_rows[each.key].name
  member     = "serviceAccount:${google_service_account.readers[each.key].email}"
}

resource "google_artifact_registry_repository_iam_member" "readers" {
  for_each = local.column_readers

  location   = google_artifact_registry_repository.capture.location
  repository = google_artifact_registry_repository.capture.repository_id
  role       = "roles/artifactregistry.reader"
  member     = "serviceAccount:${google_service_account.readers[each.key].email}"
}

resource "google_cloud_run_v2_job" "readers" {
  for_each = local.column_readers

  name                = "${var.prefix}onefold-readers"
  location            = var.region
  deletion_protection = false # it keeps nothing
  labels              = local.labels

  template {
    template {
      service_account = google_service_account.readers[each.key].email
      encryption_key  = var.kms_key
      max_retries     = 1
      timeout         = "3600s"

      containers {
        image   = var.capture_image
        command = ["onefold"]
        args    = ["changes", "readers", "--collect", "--json"]

        resources {
          limits = { cpu = "1", memory = "2Gi" }
        }
        env {
          name  = "ONEFOLD_PROJECT"
          value = var.project
        }
        env {
          name  = "ONEFOLD_DATASETS"
          value = join(",", local.served_datasets)
        }
        env {
          name  = "ONEFOLD_CHANGES_DATASET"
          value = google_bigquery_dataset.changes[0].dataset_id
        }
      }
    }
  }

  depends_on = [google_project_service.api, google_artifact_registry_repository_iam_member.readers, google_kms_crypto_key_iam_member.agent]
}

resource "google_cloud_run_v2_job_iam_member" "readers" {
  for_each = local.column_readers

  name     = google_cloud_run_v2_job.readers[each.key].name
  location = google_cloud_run_v2_job.readers[each.key].location
  role     = "roles/run.invoker"
  member   = "serviceAccount:${google_service_account.readers[each.key].email}"
}

resource "google_cloud_scheduler_job" "readers" {
  for_each = local.column_readers

  name        = "${var.prefix}onefold-readers"
  description = "Finds out who reads each column."
  region      = var.region
  schedule    = each.value.schedule
  time_zone   = var.time_zone

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.readers[each.key].id}:run"

    oauth_token {
      service_account_email = google_service_account.readers[each.key].email
    }
  }

  depends_on = [google_project_service.api, google_cloud_run_v2_job_iam_member.readers]
}
