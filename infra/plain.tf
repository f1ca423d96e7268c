# Datasets of plain change tables, which others write: those of streams, which Terraform makes, and those that exist. Onefold only
# reads them. Its current views, bases and logs of merges are in a dataset beside each, which Terraform makes, too.
locals {
  # What functions have by default, too: without the variable they get none, so that an upgrade changes none of them.
  plain_dataset  = coalesce(var.plain_dataset, "{dataset}__onefold")
  plain_datasets = { for dataset in concat(keys(local.streamed), var.plain_table_datasets) : dataset => replace(local.plain_dataset, "{dataset}", dataset) }
  plain_sources = merge(
    { for dataset in keys(local.streamed) : dataset => google_bigquery_dataset.streamed[dataset].dataset_id },
    { for dataset, found in data.google_bigquery_dataset.plain_source : dataset => found.dataset_id },
  )

  # The datasets that functions, schedules and the audit log's entries serve.
  served_datasets = concat(var.datasets, keys(local.plain_datasets))
  # The same where a variable is validated: also those of streams that are refused.
  named_datasets = concat(var.datasets, var.plain_table_datasets, local.stream_datasets)
}

data "google_bigquery_dataset" "plain_source" {
  for_each = toset(var.plain_table_datasets)

  project    = var.project
  dataset_id = each.value

  lifecycle {
    postcondition {
      condition     = lower(self.location) == lower(local.location)
      error_message = "Dataset ${each.value} is in ${self.location}, and this deployment serves ${local.location}. Take it out of `plain_table_datasets` and give it a deployment of its own (variables location and prefix)."
    }
  }
}

resource "google_bigquery_dataset" "streamed" {
  for_each = local.streamed

  dataset_id                 = each.key
  location                   = local.location
  description                = "Changes of ${each.value.schema}, written by Datastream."
  labels                     = var.labels
  delete_contents_on_destroy = false

  dynamic "default_encryption_configuration" {
    for_each = var.kms_key[*]
    content { kms_key_name = default_encryption_configuration.value }
  }

  # Without access of its own, a new dataset could be read by everybody who may view the project. Datastream's agent has its
  # right in the project.
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

resource "google_bigquery_dataset" "plain" {
  for_each = local.plain_datasets

  dataset_id                 = each.value
  location                   = local.location
  description                = "Current views and bases of the tables of ${each.key}, written by Onefold."
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

  lifecycle {
    ignore_changes = [access]
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# A merge has to see how far back BigQuery tells which rows are new: without that right it would read a day of changes again.
resource "google_project_iam_custom_role" "plain_source" {
  count = length(local.plain_datasets) == 0 ? 0 : 1

  role_id     = "${local.role_prefix}_plain_source"
  title       = "Onefold: merges from plain change tables"
  permissions = concat(local.metadata_permissions, ["bigquery.datasets.get", "bigquery.tables.getData"])
}

resource "google_bigquery_dataset_iam_member" "plain_source" {
  for_each = { for pair in setproduct(keys(local.plain_datasets), ["refresh_view", "batch"]) : join(" ", pair) => { dataset = pair[0], purpose = pair[1] } }

  dataset_id = local.plain_sources[each.value.dataset]
  role       = each.value.purpose == "batch" ? google_project_iam_custom_role.plain_source[0].name : google_project_iam_custom_role.source.name
  member     = "serviceAccount:${local.accounts[each.value.purpose]}"
}

resource "google_bigquery_dataset_iam_member" "plain" {
  for_each = { for pair in setproduct(keys(local.plain_datasets), ["views", "batch"]) : join(" ", pair) => { dataset = pair[0], role = pair[1] } }

  dataset_id = google_bigquery_dataset.plain[each.value.dataset].dataset_id
  role       = each.value.role == "views" ? google_project_iam_custom_role.views.name : google_project_iam_custom_role.batch.name
  member     = "serviceAccount:${local.accounts[each.value.role == "views" ? "refresh_view" : "batch"]}"
}

# Temporary tables and leaf views are dropped by the fixed beginnings of their names, as in other datasets.
resource "google_bigquery_dataset_iam_member" "plain_staging" {
  for_each = { for pair in setproduct(keys(local.plain_datasets), ["refresh_view", "batch"]) : join(" ", pair) => { dataset = pair[0], purpose = pair[1] } }

  dataset_id = google_bigquery_dataset.plain[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${local.accounts[each.value.purpose]}"

  condition {
    title       = each.value.purpose == "batch" ? "temporary tables and leaves only" : "leaves only"
    description = "Temporary tables of batches, onefold_tmp_…, and leaf views, onefold_leaf_…"
    expression = join("", [
      "${local.is_table} && (",
      join(" || ", [
        for start in each.value.purpose == "batch" ? ["onefold_tmp_", "onefold_leaf_"] : ["onefold_leaf_"] :
        "resource.name.startsWith(\"projects/${var.project}/datasets/${local.plain_datasets[each.value.dataset]}/tables/${start}\")"
      ]),
      ")",
    ])
  }
}

# Readers of current views need no right on the change tables. Adds one entry and keeps all others.
resource "google_bigquery_dataset_access" "plain" {
  for_each = local.plain_datasets

  dataset_id = local.plain_sources[each.key]

  dataset {
    dataset {
      project_id = var.project
      dataset_id = google_bigquery_dataset.plain[each.key].dataset_id
    }
    target_types = ["VIEWS"]
  }

  # Both resources change the same list of the dataset, so they must not run at the same time.
  depends_on = [google_bigquery_dataset_iam_member.plain_source]
}
