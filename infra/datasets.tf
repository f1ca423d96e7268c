# Rights on existing datasets: no resource of this file creates, changes or deletes a dataset.
locals {
  location      = coalesce(var.location, var.region)
  view_datasets = { for name in var.datasets : name => replace(var.view_dataset, "{dataset}", name) }
  all_datasets  = toset(concat(var.datasets, values(local.view_datasets)))
  role_prefix   = "onefold${replace(var.prefix, "-", "")}"

  # The rights for INFORMATION_SCHEMA.TABLES and COLUMNS, according to BigQuery's documentation.
  metadata_permissions = [
    "bigquery.tables.get",
    "bigquery.tables.list",
    "bigquery.routines.get",
    "bigquery.routines.list",
  ]
}

data "google_bigquery_dataset" "named" {
  for_each = local.all_datasets

  project    = var.project
  dataset_id = each.value

  lifecycle {
    postcondition {
      condition     = lower(self.location) == lower(local.location)
      error_message = "Dataset ${each.value} is in ${self.location}, and this deployment serves ${local.location}. Take it out of `datasets` and give it a deployment of its own (variables location and prefix)."
    }
  }
}

check "datasets" {
  assert {
    condition     = length(local.served_datasets) > 0
    error_message = "No dataset is named, so nothing can be refreshed yet: set `datasets`."
  }
}

# Writing a view needs the right to read its tables, hence getData.
resource "google_project_iam_custom_role" "source" {
  role_id     = "${local.role_prefix}_source"
  title       = "Onefold: reads versioned tables"
  permissions = concat(local.metadata_permissions, ["bigquery.tables.getData"])
}

# BigQuery has no separate rights for views. The role `drop` below allows deleting leaf views.
resource "google_project_iam_custom_role" "views" {
  role_id = "${local.role_prefix}_views"
  title   = "Onefold: writes views"
  permissions = concat(
    local.metadata_permissions,
    ["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update"],
    var.restore_policy_tags ? ["bigquery.tables.setCategory"] : [],
  )
}

# One role for each dataset: it allows writing in datasets of views, and only reading elsewhere.
resource "google_bigquery_dataset_iam_member" "refresh_view" {
  for_each = local.all_datasets

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = contains(values(local.view_datasets), each.value) ? google_project_iam_custom_role.views.name : google_project_iam_custom_role.source.name
  member     = "serviceAccount:${local.accounts["refresh_view"]}"
}

# The sink appends rows, and reads only the columns of a table, no rows.
resource "google_project_iam_custom_role" "sink" {
  role_id     = "${local.role_prefix}_sink"
  title       = "Onefold: appends captured rows"
  permissions = ["bigquery.tables.get", "bigquery.tables.updateData"]
}

resource "google_bigquery_dataset_iam_member" "sink_records" {
  for_each = toset(var.datasets)

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.sink.name
  member     = "serviceAccount:${local.accounts["sink_records"]}"
}

# Batches write their rows to a temporary table of the dataset, and MERGE them into the base. Load jobs have to name the
# location of the dataset, which only the dataset tells.
resource "google_project_iam_custom_role" "batch" {
  role_id = "${local.role_prefix}_batch"
  title   = "Onefold: merges changes"
  permissions = concat(
    local.metadata_permissions,
    ["bigquery.datasets.get", "bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update", "bigquery.tables.updateData"],
  )
}

resource "google_bigquery_dataset_iam_member" "batch" {
  for_each = toset(var.datasets)

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.batch.name
  member     = "serviceAccount:${local.accounts["batch"]}"
}

# After a merge the job updates the views, as refresh_view does. In a dataset that has only views it has the same role as
# refresh_view; in a dataset with tables the role above includes the rights.
resource "google_bigquery_dataset_iam_member" "batch_views" {
  for_each = setsubtract(local.all_datasets, var.datasets)

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.views.name
  member     = "serviceAccount:${local.accounts["batch"]}"
}

# A batch drops its temporary tables, and both batches and refresh_view drop leaf views. Rights of BigQuery know no owner, so
# the condition tests the fixed prefixes of these names (onefold/core/names.py): no versioned table, no base and no view that
# people read can be deleted.
resource "google_project_iam_custom_role" "staging" {
  role_id     = "${local.role_prefix}_staging"
  title       = "Onefold: drops temporary tables and leaf views"
  permissions = ["bigquery.tables.delete"]
}

locals {
  tables_of = { for name in local.all_datasets : name => "projects/${var.project}/datasets/${name}/tables" }
  is_leaf   = { for name, tables in local.tables_of : name => "resource.name.startsWith(\"${tables}/onefold_leaf_\")" }
  is_temporary = {
    for name, tables in local.tables_of : name => "resource.name.startsWith(\"${tables}/onefold_tmp_\")"
  }
  is_table = "resource.type == \"bigquery.googleapis.com/Table\""
}

resource "google_bigquery_dataset_iam_member" "staging" {
  for_each = local.all_datasets

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${local.accounts["batch"]}"

  condition {
    title       = "temporary tables and leaves only"
    description = "Temporary tables of batches, onefold_tmp_…, and leaf views, onefold_leaf_…"
    expression  = "${local.is_table} && (${local.is_temporary[each.value]} || ${local.is_leaf[each.value]})"
  }
}

resource "google_bigquery_dataset_iam_member" "leaves" {
  for_each = toset(values(local.view_datasets))

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${local.accounts["refresh_view"]}"

  condition {
    title       = "leaves only"
    description = "Leaf views, onefold_leaf_…"
    expression  = "${local.is_table} && ${local.is_leaf[each.value]}"
  }
}

# Authorize views of another dataset to read the tables on behalf of their readers. Adds one entry and keeps all others.
resource "google_bigquery_dataset_access" "views" {
  for_each = { for source, views in local.view_datasets : source => views if source != views }

  dataset_id = data.google_bigquery_dataset.named[each.key].dataset_id

  dataset {
    dataset {
      project_id = var.project
      dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
    }
    target_types = ["VIEWS"]
  }

  # Both resources change the same list of the dataset, so they must not run at the same time.
  depends_on = [
    google_bigquery_dataset_iam_member.refresh_view,
    google_bigquery_dataset_iam_member.batch,
    google_bigquery_dataset_iam_member.staging,
    google_bigquery_dataset_iam_member.leaves,
    google_bigquery_dataset_iam_member.sink_records,
    google_bigquery_dataset_iam_member.capture,
    google_bigquery_dataset_iam_member.writers,
    google_bigquery_dataset_iam_member.access,
    google_bigquery_dataset_iam_member.events,
    google_bigquery_dataset_iam_member.pages,
    google_bigquery_dataset_iam_member.page_logs,
  ]
}
