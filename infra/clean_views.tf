# Datasets of clean views and of the keys of their hashes. People get rights on the clean views alone, and nobody on the keys.
locals {
  clean_views   = toset(var.clean_views)
  clean_readers = ["refresh_view", "batch"] # a writer of a view has to be able to read what the view reads

  # Sources whose columns are hashed with the key of the clean views of their dataset, by that dataset.
  key_captures = {
    for name in local.clean_views :
    name => [for entry, key in local.capture_keys : entry if key == null && local.captures[entry].dataset == name]
  }
  key_readers = {
    for name in local.clean_views :
    name => concat([for reader in local.clean_readers : local.accounts[reader]], flatten([for entry in local.key_captures[name] : concat([local.captures[entry].account], [for checked, check in local.capture_checks : check.account if checked == entry])]))
  }

  # As grants, for the output of all grants.
  key_grants = flatten([
    for name, readers in local.key_readers : [
      for reader in readers :
      { dataset = google_bigquery_dataset.keys[name].dataset_id, role = "roles/bigquery.dataViewer", member = "serviceAccount:${reader}", condition = null }
    ]
  ])

  # Where the current views lie: those of pulled tables are their full views.
  full_of = { for key, pulled in local.pulled : pulled.dataset => google_bigquery_dataset.full[key].dataset_id }
  current_views_in = {
    for name in local.clean_views :
    name => contains(keys(local.full_of), name) ? local.full_of[name] : contains(keys(local.plain_datasets), name) ? google_bigquery_dataset.plain[name].dataset_id : data.google_bigquery_dataset.named[local.view_datasets[name]].dataset_id
  }
}

resource "google_bigquery_dataset" "clean" {
  #checkov:skip=CKV_GCP_81:a dataset of views holds no rows
  for_each = local.clean_views

  dataset_id                 = "${each.value}__views_clean"
  location                   = local.location
  description                = "Views of ${each.value} without personal data, written by Onefold. Every view here may read ${each.value}: let nobody else write."
  labels                     = var.labels
  delete_contents_on_destroy = false

  # Without access of its own, a new dataset could be read by everybody who may view the project, and written by its editors, who
  # could then write a view that reads the key. "Basic roles and permissions",
  # https://cloud.google.com/bigquery/docs/access-control-basic-roles, read 2026
  access {
    role          = "OWNER"
    special_group = "projectOwners"
  }

  # The rights of people are granted outside Terraform. So an older dataset keeps what it was made with: infra.review lists it.
  lifecycle {
    ignore_changes = [access]
  }
}

resource "google_bigquery_dataset" "keys" {
  #checkov:skip=CKV_GCP_81:Google encrypts the only row, and a key that encrypts it would not change who can read it
  for_each = local.clean_views

  dataset_id                 = "${each.value}__keys"
  location                   = local.location
  description                = "The key of the hashes of ${google_bigquery_dataset.clean[each.value].dataset_id}. Grant nobody a right here."
  labels                     = var.labels
  delete_contents_on_destroy = false

  # Without access of its own, a new dataset could be read by everybody who may view the project. The list is complete: a
  # right that somebody adds is removed by the next apply.
  access {
    role          = "OWNER"
    special_group = "projectOwners"
  }
  dynamic "access" {
    for_each = local.key_readers[each.value]
    content {
      role          = "READER"
      user_by_email = access.value
    }
  }
  access {
    dataset {
      dataset {
        project_id = var.project
        dataset_id = google_bigquery_dataset.clean[each.value].dataset_id
      }
      target_types = ["VIEWS"]
    }
  }
}

resource "google_bigquery_dataset_iam_member" "clean" {
  for_each = { for pair in setproduct(var.clean_views, local.clean_readers) : join(" ", pair) => { dataset = pair[0], account = pair[1] } }

  dataset_id = google_bigquery_dataset.clean[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.views.name
  member     = "serviceAccount:${local.accounts[each.value.account]}"
}

# The clean views may read the current views on behalf of their readers.
resource "google_bigquery_dataset_access" "clean" {
  for_each = local.clean_views

  dataset_id = local.current_views_in[each.value]

  dataset {
    dataset {
      project_id = var.project
      dataset_id = google_bigquery_dataset.clean[each.value].dataset_id
    }
    target_types = ["VIEWS"]
  }

  # These resources change the same list of a dataset, so they must not run at the same time. The first two wait for all
  # others of the datasets of tables.
  depends_on = [
    google_bigquery_dataset_access.views,
    google_bigquery_dataset_access.full,
    google_bigquery_dataset_iam_member.batch_views,
    google_bigquery_dataset_iam_member.full,
    google_bigquery_dataset_iam_member.full_leaves,
    google_bigquery_dataset_iam_member.full_check,
    google_bigquery_dataset_iam_member.plain,
    google_bigquery_dataset_iam_member.plain_staging,
  ]
}
