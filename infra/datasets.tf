# Datasets are referred to and never owned: no resource here creates, changes or deletes one.
locals {
  location      = coalesce(var.location, var.region)
  view_datasets = { for name in var.datasets : name => replace(var.view_dataset, "{dataset}", name) }
  all_datasets  = toset(concat(var.datasets, values(local.view_datasets)))
  role_prefix   = "onefold${replace(var.prefix, "-", "")}"

  # What INFORMATION_SCHEMA.TABLES and COLUMNS ask for, as BigQuery's documentation has it.
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
    condition     = length(var.datasets) > 0
    error_message = "No dataset is named, so nothing can be refreshed yet: set `datasets`."
  }
}

# Writing a view needs the right to query what is in it, hence getData.
resource "google_project_iam_custom_role" "source" {
  role_id     = "${local.role_prefix}_source"
  title       = "Onefold: reads versioned tables"
  permissions = concat(local.metadata_permissions, ["bigquery.tables.getData"])
}

# BigQuery has no rights for views alone. Leaves of two-level views are deleted by the role `drop` below.
resource "google_project_iam_custom_role" "views" {
  role_id = "${local.role_prefix}_views"
  title   = "Onefold: writes views"
  permissions = concat(
    local.metadata_permissions,
    ["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update"],
    var.restore_policy_tags ? ["bigquery.tables.setCategory"] : [],
  )
}

# One role a dataset: it writes where views live, and only reads elsewhere.
resource "google_bigquery_dataset_iam_member" "refresh_view" {
  for_each = local.all_datasets

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = contains(values(local.view_datasets), each.value) ? google_project_iam_custom_role.views.name : google_project_iam_custom_role.source.name
  member     = "serviceAccount:${local.accounts["refresh_view"]}"
}

# Rows are appended, and nothing is read: of a table only what columns it has.
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

# Batches stage their rows in a table of the dataset, and MERGE them into the base.
resource "google_project_iam_custom_role" "batch" {
  role_id = "${local.role_prefix}_batch"
  title   = "Onefold: merges changes"
  permissions = concat(
    local.metadata_permissions,
    ["bigquery.tables.getData", "bigquery.tables.create", "bigquery.tables.update", "bigquery.tables.updateData"],
  )
}

resource "google_bigquery_dataset_iam_member" "batch" {
  for_each = toset(var.datasets)

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.batch.name
  member     = "serviceAccount:${local.accounts["batch"]}"
}

# After a merge the job brings the views up to date, as refresh_view would. In a dataset of views alone it has the same
# role for that; where tables land the role above includes what it needs.
resource "google_bigquery_dataset_iam_member" "batch_views" {
  for_each = setsubtract(local.all_datasets, var.datasets)

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.views.name
  member     = "serviceAccount:${local.accounts["batch"]}"
}

# A batch drops the tables that it made on its way, and both it and refresh_view drop leaves of two-level views. BigQuery's
# rights know no owner, so the fixed prefixes of these names (onefold/core/names.py) have to tell: no table that has landed, no
# base and no view that people read can be deleted.
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
    description = "Tables that a batch makes for itself, onefold_tmp_…, and leaves of views, onefold_leaf_…"
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
    description = "Leaves of views, onefold_leaf_…"
    expression  = "${local.is_table} && ${local.is_leaf[each.value]}"
  }
}

# Views in another dataset may read the source for whoever may read the views. This adds one entry and leaves all others.
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

  # Both change the one list of the dataset: one after the other.
  depends_on = [
    google_bigquery_dataset_iam_member.refresh_view,
    google_bigquery_dataset_iam_member.batch,
    google_bigquery_dataset_iam_member.staging,
    google_bigquery_dataset_iam_member.leaves,
    google_bigquery_dataset_iam_member.sink_records,
    google_bigquery_dataset_iam_member.capture,
  ]
}
