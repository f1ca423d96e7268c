# The pages of datasets: the function write_pages, which a schedule calls once for each dataset, and a private bucket.
# Nothing of this exists without the variable `pages_schedule`.
locals {
  has_pages    = var.pages_schedule != null
  pages_only   = local.has_pages ? toset(["pages"]) : toset([])
  pages_bucket = local.has_pages ? { pages = { name = "${local.bucket_prefix}-pages", old_versions_days = 30 } } : {}
  pages_folder = "pages"

  # A page needs some calls for each table, and the JSON of thousands of tables. One instance writes one page after the other,
  # so that the index has one writer.
  page_functions = {
    for name in local.has_pages ? ["write_pages"] : [] : name => {
      listens     = "page-requests"
      publishes   = ["dead-letter"]
      description = "Writes the page of a dataset."
      memory      = "1Gi"
      concurrency = 1
      instances   = 1
      timeout     = 540
    }
  }
  page_environment = local.has_pages ? merge(local.view_environment, {
    ONEFOLD_PAGES            = "gs://${local.bucket_prefix}-pages/${local.pages_folder}"
    ONEFOLD_CHANGES_DATASET  = var.changes_dataset == null ? "" : google_bigquery_dataset.changes[0].dataset_id
    ONEFOLD_PAGE_CHECKPOINTS = join(",", [for name in sort(keys(local.captures)) : "gs://${module.buckets.names["capture"]}/${name}"])
  }) : {}
  page_schedules = {
    for dataset in local.has_pages ? local.served_datasets : [] : dataset => {
      name        = "${var.prefix}onefold-page-${local.schedule_names[dataset]}"
      description = "Writes the page of ${dataset}."
      schedule    = var.pages_schedule
      message     = jsonencode({ dataset = dataset })
    }
  }
  # Datasets whose tables and views a page shows. Of a dataset of clean views that may not be read, every column counts as hidden.
  page_datasets = local.has_pages ? merge(
    { for name in local.all_datasets : name => data.google_bigquery_dataset.named[name].dataset_id },
    { for name in local.clean_views : "clean ${name}" => google_bigquery_dataset.clean[name].dataset_id },
  ) : {}
}

# Metadata alone: without getData no row of any table can be read. The location of a dataset is asked for its sizes.
resource "google_project_iam_custom_role" "pages" {
  for_each = local.pages_only

  role_id     = "${local.role_prefix}_pages"
  title       = "Onefold: reads the metadata of tables for pages"
  permissions = concat(local.metadata_permissions, ["bigquery.datasets.get"])
}

resource "google_bigquery_dataset_iam_member" "pages" {
  for_each = local.page_datasets

  dataset_id = each.value
  role       = google_project_iam_custom_role.pages["pages"].name
  member     = "serviceAccount:${local.accounts["write_pages"]}"
}

# The logs of loads and of checks hold no value of a column.
resource "google_project_iam_custom_role" "page_logs" {
  for_each = local.pages_only

  role_id     = "${local.role_prefix}_page_logs"
  title       = "Onefold: reads the logs of loads and checks for pages"
  permissions = ["bigquery.tables.getData"]
}

resource "google_bigquery_dataset_iam_member" "page_logs" {
  for_each = local.has_pages ? toset(var.datasets) : toset([])

  dataset_id = data.google_bigquery_dataset.named[each.value].dataset_id
  role       = google_project_iam_custom_role.page_logs["pages"].name
  member     = "serviceAccount:${local.accounts["write_pages"]}"

  condition {
    title       = "logs only"
    description = "The tables _loads and _checks."
    expression  = "${local.is_table} && (${join(" || ", [for log in ["_loads", "_checks"] : "resource.name == \"${local.tables_of[each.value]}/${log}\""])})"
  }
}

# The ledger of changes, decisions and readers hold no value of a column. On the dataset, since BigQuery says of a table that is
# missing, as that of readers may be, only there that it is missing.
resource "google_project_iam_custom_role" "page_ledger" {
  for_each = var.changes_dataset == null ? toset([]) : local.pages_only

  role_id     = "${local.role_prefix}_page_ledger"
  title       = "Onefold: reads the ledger of changes for pages"
  permissions = ["bigquery.tables.get", "bigquery.tables.getData"]
}

resource "google_bigquery_dataset_iam_member" "page_ledger" {
  for_each = var.changes_dataset == null ? toset([]) : local.pages_only

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  role       = google_project_iam_custom_role.page_ledger["pages"].name
  member     = "serviceAccount:${local.accounts["write_pages"]}"
}

# A checkpoint tells how far its capture is behind the source, and holds structures of tables, but no value.
resource "google_storage_bucket_iam_member" "page_checkpoints" {
  for_each = local.has_pages ? local.captures : {}

  bucket = module.buckets.names["capture"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["write_pages"]}"

  condition {
    title       = "checkpoint of ${each.key} only"
    description = "The checkpoint of this source, and no record."
    expression  = "resource.name == \"projects/_/buckets/${module.buckets.names["capture"]}/objects/${each.key}/checkpoint.json\""
  }
}

# To replace an object takes the right to delete it, so the right ends with the folder of the pages.
resource "google_storage_bucket_iam_member" "pages" {
  for_each = local.pages_only

  bucket = module.buckets.names["pages"]
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${local.accounts["write_pages"]}"

  condition {
    title       = "pages only"
    description = "Objects of the folder of pages."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["pages"]}/objects/${local.pages_folder}/\")"
  }
}

resource "google_storage_bucket_iam_member" "page_readers" {
  for_each = local.has_pages ? toset(var.pages_readers) : toset([])

  bucket = module.buckets.names["pages"]
  role   = "roles/storage.objectViewer"
  member = each.value
}
