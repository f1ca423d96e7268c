# The ledger of changes: a table in a dataset of its own, to which refresh_view, schema_registry and merges append and of which
# nobody changes a row.
resource "google_bigquery_dataset" "changes" {
  count = var.changes_dataset == null ? 0 : 1

  dataset_id                 = var.changes_dataset
  location                   = local.location
  description                = "The ledger of changes, to which Onefold appends. Grant people the right to read; let nobody else write."
  labels                     = var.labels
  delete_contents_on_destroy = false

  dynamic "default_encryption_configuration" {
    for_each = var.kms_key[*]
    content { kms_key_name = default_encryption_configuration.value }
  }

  access {
    role          = "OWNER"
    special_group = "projectOwners"
  }

  # The rights of people are granted outside Terraform.
  lifecycle {
    ignore_changes = [access]
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# A test holds the columns against those that the code writes.
resource "google_bigquery_table" "changes" {
  #checkov:skip=CKV_GCP_80:its dataset has a key for new tables, where var.kms_key names one
  count = var.changes_dataset == null ? 0 : 1

  dataset_id          = google_bigquery_dataset.changes[0].dataset_id
  table_id            = "schema_changes"
  description         = "Changes of schemas and settings; an entry may be there several times: read the view schema_changes_latest."
  labels              = var.labels
  schema              = file("${path.module}/schema_changes.json")
  deletion_protection = true

  time_partitioning {
    type  = "DAY"
    field = "recorded_at"
  }
}

resource "google_bigquery_table" "changes_latest" {
  #checkov:skip=CKV_GCP_80:a view holds no rows
  #checkov:skip=CKV_GCP_121:a view holds no rows, and is made anew
  count = var.changes_dataset == null ? 0 : 1

  dataset_id          = google_bigquery_dataset.changes[0].dataset_id
  table_id            = "schema_changes_latest"
  description         = "Changes of schemas and settings, each once."
  labels              = var.labels
  deletion_protection = false

  view {
    query          = replace(file("${path.module}/schema_changes_latest.sql"), "TABLE", "${var.project}.${var.changes_dataset}.${google_bigquery_table.changes[0].table_id}")
    use_legacy_sql = false
  }
}

# Rows can be appended, and neither read nor changed: UPDATE, DELETE, MERGE and TRUNCATE need tables.getData, and a job that
# replaces a table needs tables.update or tables.create.
resource "google_project_iam_custom_role" "ledger" {
  count = var.changes_dataset == null ? 0 : 1

  role_id     = "${local.role_prefix}_ledger"
  title       = "Onefold: appends to the ledger of changes"
  permissions = ["bigquery.tables.get", "bigquery.tables.updateData"]
}

# On this table alone: the dataset has the decisions of people, too, to which no function may append.
resource "google_bigquery_table_iam_member" "ledger" {
  count = var.changes_dataset == null ? 0 : 1

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  table_id   = google_bigquery_table.changes[0].table_id
  role       = google_project_iam_custom_role.ledger[0].name
  member     = "serviceAccount:${local.accounts["refresh_view"]}"
}

# The schemas that the registry gets, before it has them.
resource "google_bigquery_table_iam_member" "registry_ledger" {
  count = var.changes_dataset == null || !local.has_registry ? 0 : 1

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  table_id   = google_bigquery_table.changes[0].table_id
  role       = google_project_iam_custom_role.ledger[0].name
  member     = "serviceAccount:${local.accounts["schema_registry"]}"
}

# Merges write current views, too, and may be the first to do so after a change.
resource "google_bigquery_table_iam_member" "batch_ledger" {
  count = var.changes_dataset == null ? 0 : 1

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  table_id   = google_bigquery_table.changes[0].table_id
  role       = google_project_iam_custom_role.ledger[0].name
  member     = "serviceAccount:${local.accounts["batch"]}"
}

# What people decided about changes that contracts hold. People append, by rights that are granted outside Terraform.
resource "google_bigquery_table" "decisions" {
  #checkov:skip=CKV_GCP_80:its dataset has a key for new tables, where var.kms_key names one
  count = var.changes_dataset == null ? 0 : 1

  dataset_id          = google_bigquery_dataset.changes[0].dataset_id
  table_id            = "schema_change_decisions"
  description         = "Decisions of people about changes that contracts hold: onefold changes accept, and reject."
  labels              = var.labels
  schema              = file("${path.module}/schema_change_decisions.json")
  deletion_protection = true
}

resource "google_project_iam_custom_role" "decisions" {
  count = var.changes_dataset == null ? 0 : 1

  role_id     = "${local.role_prefix}_decisions"
  title       = "Onefold: reads the decisions about changes"
  permissions = ["bigquery.tables.get", "bigquery.tables.getData"]
}

# What a merge writes needs no decision: it keeps what a view shows.
resource "google_bigquery_table_iam_member" "decisions" {
  count = var.changes_dataset == null ? 0 : 1

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  table_id   = google_bigquery_table.decisions[0].table_id
  role       = google_project_iam_custom_role.decisions[0].name
  member     = "serviceAccount:${local.accounts["refresh_view"]}"
}
