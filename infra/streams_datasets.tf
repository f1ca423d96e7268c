# The datasets of streams: what Datastream writes there nobody else may write, and Onefold writes into the dataset beside it.
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

# Both read what Datastream writes, and write nothing there.
resource "google_bigquery_dataset_iam_member" "streamed" {
  for_each = { for pair in setproduct(keys(local.streamed), ["refresh_view", "batch"]) : join(" ", pair) => { dataset = pair[0], purpose = pair[1] } }

  dataset_id = google_bigquery_dataset.streamed[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.source.name
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

# Readers of current views need no right on what Datastream writes. Adds one entry and keeps all others.
resource "google_bigquery_dataset_access" "plain" {
  for_each = local.plain_datasets

  dataset_id = google_bigquery_dataset.streamed[each.key].dataset_id

  dataset {
    dataset {
      project_id = var.project
      dataset_id = google_bigquery_dataset.plain[each.key].dataset_id
    }
    target_types = ["VIEWS"]
  }

  # Both resources change the same list of the dataset, so they must not run at the same time.
  depends_on = [google_bigquery_dataset_iam_member.streamed]
}
