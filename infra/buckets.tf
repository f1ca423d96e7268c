# Deployed code. It can be packaged and uploaded again, so `terraform destroy` deletes the bucket.
resource "google_storage_bucket" "artifacts" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  name                        = "${var.project}-${var.prefix}onefold-artifacts"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true

  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 30
    }
  }

  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Temporary files of batches. Results are written to folders of `batch_folders`.
resource "google_storage_bucket" "staging" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  #checkov:skip=CKV_GCP_78:old versions of temporary files would be stored, and paid for, longer than the files
  name                        = "${var.project}-${var.prefix}onefold-staging"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age = var.staging_days
    }
  }
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 1
    }
  }

  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Checkpoints of capture, and rows that are too large for a message, which only the sink reads.
resource "google_storage_bucket" "capture" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  #checkov:skip=CKV_GCP_78:the checkpoint is replaced every few seconds, and an older one only leads to reading more of the log again
  name                        = "${var.project}-${var.prefix}onefold-capture"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  # The bucket outlives the deployment: without checkpoints capture would have to copy every table again, and rows that
  # have not landed yet would be lost. `make undeploy` keeps the bucket, and the next deployment adopts it
  # (docs/how-to/deploy.md).
  force_destroy = false

  soft_delete_policy {
    retention_duration_seconds = 0
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age            = var.large_records_days
      matches_prefix = ["${local.large_records_folder}/"]
    }
  }
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 1
    }
  }

  dynamic "encryption" {
    for_each = var.kms_key == null ? [] : [var.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]

  lifecycle {
    prevent_destroy = true

    # Bucket names are global: an existing bucket may belong to another project.
    postcondition {
      condition     = tostring(self.project_number) == local.project_number
      error_message = "gs://${self.name} belongs to project number ${self.project_number}, expected ${local.project_number} of ${var.project}: rows would land there. Choose another prefix."
    }
  }
}

# Import the bucket if an earlier deployment left it. This has no effect on a bucket that is in the state already.
import {
  for_each = toset(var.adopt_capture_bucket ? ["${var.project}-${var.prefix}onefold-capture"] : [])
  to       = google_storage_bucket.capture
  id       = each.value
}

locals {
  large_records_folder = "records"
  large_records        = "gs://${google_storage_bucket.capture.name}/${local.large_records_folder}"
}

resource "google_storage_bucket_iam_member" "sink_records" {
  bucket = google_storage_bucket.capture.name
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["sink_records"]}"

  condition {
    title       = "large records only"
    description = "Objects of capture except checkpoints."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${google_storage_bucket.capture.name}/objects/${local.large_records_folder}/\")"
  }
}

# Without the right to list, a record that is gone would be answered by 403, as a right that is missing for now, and its message would be
# delivered again and again. The right shows names, and no checkpoint.
resource "google_storage_bucket_iam_member" "sink_names" {
  bucket = google_storage_bucket.capture.name
  role   = google_project_iam_custom_role.capture_names.name
  member = "serviceAccount:${local.accounts["sink_records"]}"
}

resource "google_storage_bucket_iam_member" "build" {
  bucket = google_storage_bucket.artifacts.name
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["build"]}"
}

# Batches read jobs and their archive, but not the code of the functions in the same bucket.
resource "google_storage_bucket_iam_member" "batch_code" {
  bucket = google_storage_bucket.artifacts.name
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${local.accounts["batch"]}"

  condition {
    title       = "code of batches only"
    description = "Objects except the code of the functions."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${google_storage_bucket.artifacts.name}/objects/spark/\")"
  }
}

resource "google_storage_bucket_iam_member" "batch_staging" {
  bucket = google_storage_bucket.staging.name
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${local.accounts["batch"]}"
}

# Rights on the folders that the user names, in existing buckets. The Cloud Storage connector checks whether a parent of the
# folder is a file, so the names of parents are admitted, but nothing else below them. To list is a right on the bucket: see
# `names` below.
locals {
  batch_folders = {
    for folder in distinct([for name in var.batch_folders : trimsuffix(name, "/")]) : folder => {
      bucket = split("/", folder)[2]
      parts  = slice(split("/", folder), 3, length(split("/", folder)))
    }
  }
}

resource "google_storage_bucket_iam_member" "batch_folders" {
  for_each = local.batch_folders

  bucket = each.value.bucket
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${local.accounts["batch"]}"

  # A folder without a path is the whole bucket.
  dynamic "condition" {
    for_each = length(each.value.parts) == 0 ? [] : [join("/", each.value.parts)]
    content {
      title       = "folder ${substr(sha256(each.key), 0, 12)} only"
      description = substr("Objects of ${each.key}", 0, 256)
      expression = join(" || ", concat(
        ["resource.name.startsWith(\"projects/_/buckets/${each.value.bucket}/objects/${condition.value}/\")"],
        [for depth in range(1, length(each.value.parts) + 1) :
        "resource.name == \"projects/_/buckets/${each.value.bucket}/objects/${join("/", slice(each.value.parts, 0, depth))}\""],
      ))
    }
  }
}

# Without the right to list a bucket, Cloud Storage answers 403 instead of 404 for an object that is not there, and under a condition
# on the prefix of a request nobody has the right while an object is read. A load job and the connector look at the bucket itself, too
# ("Batch loading data", https://cloud.google.com/bigquery/docs/batch-loading-data; "IAM permissions for JSON methods",
# https://cloud.google.com/storage/docs/access-control/iam-json; read 2026). The role has these two permissions, shows names and no
# content, and can be granted on a bucket of another project, which a role of this project cannot.
locals {
  folder_buckets = distinct([for folder in concat(values(local.batch_folders), values(local.shred_grants)) : folder.bucket])
  names = merge(
    { for bucket in local.folder_buckets : "batch ${bucket}" => { bucket = bucket, account = "batch" } },
    { for bucket in local.has_events ? [local.events_bucket] : [] : "load_shredded ${bucket}" => { bucket = bucket, account = "load_shredded" } },
  )
}

resource "google_storage_bucket_iam_member" "names" {
  for_each = local.names

  bucket = each.value.bucket
  role   = "roles/storage.legacyBucketReader"
  member = "serviceAccount:${local.accounts[each.value.account]}"

  depends_on = [google_storage_bucket.registry]
}
