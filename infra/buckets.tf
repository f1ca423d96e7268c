locals {
  bucket_prefix        = "${var.project}-${var.prefix}onefold"
  bucket_place         = { project = var.project, project_number = local.project_number, region = var.region, kms_key = var.kms_key }
  large_records_folder = "records"
  large_records        = "gs://${module.buckets.names["capture"]}/${local.large_records_folder}"
}

module "buckets" {
  source = "./modules/buckets"

  place = local.bucket_place
  buckets = merge({
    # Deployed code. It can be packaged and uploaded again.
    artifacts = { name = "${local.bucket_prefix}-artifacts", old_versions_days = 30 }
    # Temporary files of batches. Results are written to folders of `batch_folders`.
    staging = { name = "${local.bucket_prefix}-staging", delete_days = var.staging_days }
    # Checkpoints of capture, and rows that are too large for a message, which only the sink reads. Without checkpoints capture
    # would have to copy every table again, and rows that have not landed yet would be lost. `make undeploy` keeps the bucket,
    # and the next deployment adopts it (docs/how-to/deploy.md).
    capture = {
      name          = "${local.bucket_prefix}-capture"
      kept          = true
      delete_days   = var.large_records_days
      delete_prefix = "${local.large_records_folder}/"
    }
  }, local.pulled_bucket, local.registry_bucket, local.pages_bucket)

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Import the bucket if an earlier deployment left it. This has no effect on a bucket that is in the state already.
import {
  for_each = toset(var.adopt_capture_bucket ? ["${local.bucket_prefix}-capture"] : [])
  to       = module.buckets.google_storage_bucket.kept["capture"]
  id       = each.value
}

resource "google_storage_bucket_iam_member" "sink_records" {
  bucket = module.buckets.names["capture"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["sink_records"]}"

  condition {
    title       = "large records only"
    description = "Objects of capture except checkpoints."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["capture"]}/objects/${local.large_records_folder}/\")"
  }
}

# Without the right to list, a record that is gone would be answered by 403, as a right that is missing for now, and its message would be
# delivered again and again. The right shows names, and no checkpoint.
resource "google_storage_bucket_iam_member" "sink_names" {
  bucket = module.buckets.names["capture"]
  role   = google_project_iam_custom_role.capture_names.name
  member = "serviceAccount:${local.accounts["sink_records"]}"
}

resource "google_storage_bucket_iam_member" "build" {
  bucket = module.buckets.names["artifacts"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["build"]}"
}

# Batches read jobs and their archive, but not the code of the functions in the same bucket.
resource "google_storage_bucket_iam_member" "batch_code" {
  bucket = module.buckets.names["artifacts"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["batch"]}"

  condition {
    title       = "code of batches only"
    description = "Objects except the code of the functions."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["artifacts"]}/objects/spark/\")"
  }
}

resource "google_storage_bucket_iam_member" "batch_staging" {
  bucket = module.buckets.names["staging"]
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${local.accounts["batch"]}"
}

# Rights of batches on the folders that the user names, and on those of events that are shredded (shreds.tf).
locals {
  batch_folders = {
    for folder in distinct([for name in var.batch_folders : trimsuffix(name, "/")]) :
    folder => { folder = folder, role = "roles/storage.objectUser" }
  }
}

module "folder_rights" {
  source   = "./modules/folder_rights"
  for_each = { folder = local.batch_folders, shred = local.shred_folders }

  kind   = each.key
  grants = each.value
  member = "serviceAccount:${local.accounts["batch"]}"

  depends_on = [module.buckets]
}

# Without the right to list a bucket, Cloud Storage answers 403 instead of 404 for an object that is not there, and under a condition
# on the prefix of a request nobody has the right while an object is read. A load job and the connector look at the bucket itself, too
# ("Batch loading data", https://cloud.google.com/bigquery/docs/batch-loading-data; "IAM permissions for JSON methods",
# https://cloud.google.com/storage/docs/access-control/iam-json; read 2026). The role has these two permissions, shows names and no
# content, and can be granted on a bucket of another project, which a role of this project cannot.
locals {
  folder_buckets = distinct([for grant in concat(values(local.batch_folders), values(local.shred_folders)) : split("/", grant.folder)[2]])
  names = merge(
    { for bucket in local.folder_buckets : "batch ${bucket}" => { bucket = bucket, account = "batch" } },
    { for bucket in local.has_events ? [local.events_bucket] : [] : "load_shredded ${bucket}" => { bucket = bucket, account = "load_shredded" } },
    { for bucket in local.has_pages ? [module.buckets.names["pages"]] : [] : "write_pages" => { bucket = bucket, account = "write_pages" } },
  )
}

resource "google_storage_bucket_iam_member" "names" {
  for_each = local.names

  bucket = each.value.bucket
  role   = "roles/storage.legacyBucketReader"
  member = "serviceAccount:${local.accounts[each.value.account]}"

  depends_on = [module.buckets]
}
