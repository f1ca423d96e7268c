# Private buckets in the region of the deployment, encrypted with its key. Old versions are kept of what a person may want back:
# those of temporary files would be stored, and paid for, longer than the files, and an older checkpoint of capture only leads to
# reading more of the log again.
variable "buckets" {
  description = "The buckets by a key of their own."
  type = map(object({
    name              = string
    kept              = optional(bool, false) # it outlives the deployment, which refuses to delete it
    old_versions_days = optional(number)      # how long a version that was replaced can be had back; default: not at all
    delete_days       = optional(number)      # after how many days objects are deleted; default: never
    delete_prefix     = optional(string)      # only the objects whose names begin with it; default: all
  }))
}

variable "place" {
  description = "Where the buckets are, and the key of Cloud KMS that encrypts them; null: Google's own keys."
  type        = object({ project = string, project_number = string, region = string, kms_key = string })
}

output "names" {
  description = "The names of the buckets by their keys."
  value       = { for key, bucket in merge(google_storage_bucket.temporary, google_storage_bucket.kept) : key => bucket.name }
}

locals {
  # Old versions are deleted, objects, and what was never uploaded whole.
  rules = {
    for key, bucket in var.buckets : key => [for rule in [
      { action = "Delete", age = null, noncurrent = bucket.old_versions_days, prefix = null },
      { action = "Delete", age = bucket.delete_days, noncurrent = null, prefix = bucket.delete_prefix },
      { action = "AbortIncompleteMultipartUpload", age = bucket.delete_days == null ? null : 1, noncurrent = null, prefix = null },
    ] : rule if rule.age != null || rule.noncurrent != null]
  }
}

resource "google_storage_bucket" "temporary" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  for_each = { for key, bucket in var.buckets : key => bucket if !bucket.kept }

  name                        = each.value.name
  location                    = var.place.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true

  dynamic "soft_delete_policy" {
    for_each = each.value.old_versions_days == null ? [0] : []
    content {
      retention_duration_seconds = soft_delete_policy.value
    }
  }

  dynamic "versioning" {
    for_each = each.value.old_versions_days == null ? [] : [true]
    content {
      enabled = versioning.value
    }
  }

  dynamic "lifecycle_rule" {
    for_each = local.rules[each.key]
    content {
      action {
        type = lifecycle_rule.value.action
      }
      condition {
        age                        = lifecycle_rule.value.age
        days_since_noncurrent_time = lifecycle_rule.value.noncurrent
        matches_prefix             = lifecycle_rule.value.prefix == null ? null : [lifecycle_rule.value.prefix]
      }
    }
  }

  dynamic "encryption" {
    for_each = var.place.kms_key == null ? [] : [var.place.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }
}

# The same again, since `prevent_destroy` cannot be a variable.
resource "google_storage_bucket" "kept" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  for_each = { for key, bucket in var.buckets : key => bucket if bucket.kept }

  name                        = each.value.name
  location                    = var.place.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  dynamic "soft_delete_policy" {
    for_each = each.value.old_versions_days == null ? [0] : []
    content {
      retention_duration_seconds = soft_delete_policy.value
    }
  }

  dynamic "versioning" {
    for_each = each.value.old_versions_days == null ? [] : [true]
    content {
      enabled = versioning.value
    }
  }

  dynamic "lifecycle_rule" {
    for_each = local.rules[each.key]
    content {
      action {
        type = lifecycle_rule.value.action
      }
      condition {
        age                        = lifecycle_rule.value.age
        days_since_noncurrent_time = lifecycle_rule.value.noncurrent
        matches_prefix             = lifecycle_rule.value.prefix == null ? null : [lifecycle_rule.value.prefix]
      }
    }
  }

  dynamic "encryption" {
    for_each = var.place.kms_key == null ? [] : [var.place.kms_key]
    content {
      default_kms_key_name = encryption.value
    }
  }

  lifecycle {
    prevent_destroy = true

    # Bucket names are global: an existing bucket may belong to another project.
    postcondition {
      condition     = tostring(self.project_number) == var.place.project_number
      error_message = "gs://${self.name} belongs to project number ${self.project_number}, expected ${var.place.project_number} of ${var.place.project}: what is written would be there. Choose another prefix."
    }
  }
}
