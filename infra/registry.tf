# The schema registry: a bucket with schemas, and the function schema_registry, which is called by HTTP. Nothing of this exists
# without the variable `schema_registry`.
locals {
  has_registry = var.schema_registry != null
  registry = {
    keys       = try(var.schema_registry.keys, null)
    public     = try(var.schema_registry.public, [])
    order      = try(var.schema_registry.order, "by-addition")
    patches    = try(var.schema_registry.patches, false)
    warehouses = try(var.schema_registry.warehouses, [])
    callers    = try(var.schema_registry.callers, [])
  }
  registry_keys     = local.has_registry && local.registry.keys != null ? toset([local.registry.keys]) : toset([])
  registry_name     = "${var.project}-${var.prefix}onefold-registry"
  registry_objects  = "projects/_/buckets/${local.registry_name}/objects"
  registry_key_path = "/registry-keys"

  registry_environment = {
    ONEFOLD_REGISTRY            = "gs://${local.registry_name}"
    ONEFOLD_REGISTRY_ORDER      = local.registry.order
    ONEFOLD_REGISTRY_PATCHES    = local.registry.patches ? "allowed" : ""
    ONEFOLD_REGISTRY_WAREHOUSES = join(",", local.registry.warehouses)
    ONEFOLD_REGISTRY_PUBLIC     = join(",", local.registry.public)
    ONEFOLD_REGISTRY_KEYS       = local.registry.keys == null ? "" : "${local.registry_key_path}/keys.json"
  }
}

# Schemas are never deleted: data refers to them for as long as it exists. So the bucket outlives the deployment.
resource "google_storage_bucket" "registry" {
  #checkov:skip=CKV_GCP_62:reads are in Cloud Audit Logs if the project enables them; a second log would need another bucket
  count = local.has_registry ? 1 : 0

  name                        = local.registry_name
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = false

  # An index that somebody overwrote can be had back.
  versioning {
    enabled = true
  }

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      days_since_noncurrent_time = 90
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
      error_message = "gs://${self.name} belongs to project number ${self.project_number}, expected ${local.project_number} of ${var.project}: choose another prefix."
    }
  }
}

# Import the bucket if an earlier deployment left it. This has no effect on a bucket that is in the state already.
import {
  for_each = toset(local.has_registry && var.adopt_registry_bucket ? [local.registry_name] : [])
  to       = google_storage_bucket.registry[0]
  id       = each.value
}

# The function reads and adds objects. It replaces the index, and a schema only where patches are allowed: a replacement needs
# the right to delete, since Cloud Storage deletes the object and creates another.
resource "google_storage_bucket_iam_member" "registry" {
  for_each = local.has_registry ? toset(["roles/storage.objectViewer", "roles/storage.objectCreator"]) : toset([])

  bucket = google_storage_bucket.registry[0].name
  role   = each.value
  member = "serviceAccount:${local.accounts["schema_registry"]}"
}

resource "google_project_iam_custom_role" "registry" {
  count = local.has_registry ? 1 : 0

  role_id     = "${local.role_prefix}_registry"
  title       = "Onefold: replaces the index of the schema registry"
  permissions = ["storage.objects.delete"]
}

resource "google_storage_bucket_iam_member" "registry_index" {
  count = local.has_registry ? 1 : 0

  bucket = google_storage_bucket.registry[0].name
  role   = google_project_iam_custom_role.registry[0].name
  member = "serviceAccount:${local.accounts["schema_registry"]}"

  condition {
    title       = local.registry.patches ? "objects of the registry" : "the index only"
    description = "What the schema registry may replace."
    expression  = local.registry.patches ? "resource.name.startsWith(\"${local.registry_objects}/schemas/\")" : "resource.name == \"${local.registry_objects}/schemas/index.json\""
  }
}

# A person creates the secret and its versions, as the command `onefold schema key create` says: hashes, and no key.
data "google_secret_manager_secret" "registry" {
  for_each = local.registry_keys

  project   = var.project
  secret_id = each.value
}

resource "google_secret_manager_secret_iam_member" "registry" {
  for_each = local.registry_keys

  project   = var.project
  secret_id = data.google_secret_manager_secret.registry[each.value].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${local.accounts["schema_registry"]}"
}

resource "google_cloudfunctions2_function" "registry" {
  count = local.has_registry ? 1 : 0

  name         = "${var.prefix}schema-registry"
  location     = var.region
  description  = "Answers requests to the schema registry."
  kms_key_name = var.kms_key

  build_config {
    runtime           = "python312"
    entry_point       = "schema_registry"
    service_account   = "projects/${var.project}/serviceAccounts/${local.accounts["build"]}"
    docker_repository = google_artifact_registry_repository.images.id

    source {
      storage_source {
        bucket = google_storage_bucket.artifacts.name
        object = google_storage_bucket_object.functions.name
      }
    }
  }

  service_config {
    service_account_email = local.accounts["schema_registry"]
    available_memory      = "512Mi"
    available_cpu         = "1"
    # A request waits for Cloud Storage nearly all of its time. Schemas that were read are kept.
    max_instance_request_concurrency = 8
    max_instance_count               = 4
    min_instance_count               = 0
    # Thirty tries with pauses of up to four seconds.
    timeout_seconds               = 300
    ingress_settings              = var.schema_registry_ingress
    vpc_connector                 = var.vpc_connector
    vpc_connector_egress_settings = var.vpc_connector == null ? null : "PRIVATE_RANGES_ONLY"
    environment_variables         = { for name, value in local.registry_environment : name => value if value != "" }

    # A file and not a variable: a new version of the secret is read at once, and a revoked key refused.
    dynamic "secret_volumes" {
      for_each = local.registry_keys
      content {
        mount_path = local.registry_key_path
        project_id = var.project
        secret     = data.google_secret_manager_secret.registry[secret_volumes.value].secret_id
        versions {
          version = "latest"
          path    = "keys.json"
        }
      }
    }
  }

  # The build starts at once, and fails without its rights; an instance does not start without its secret.
  depends_on = [
    google_project_service.api,
    google_project_iam_member.build,
    google_storage_bucket_iam_member.build,
    google_artifact_registry_repository_iam_member.build,
    google_kms_crypto_key_iam_member.agent,
    google_secret_manager_secret_iam_member.registry,
    google_storage_bucket.registry,
    terraform_data.build_rights,
  ]
}

# Who may call the function at all, before it looks at a key. Tools for Iglu send a key only, and no token of Google.
resource "google_cloud_run_service_iam_member" "registry" {
  for_each = toset(local.has_registry ? local.registry.callers : [])

  location = var.region
  service  = google_cloudfunctions2_function.registry[0].name
  role     = "roles/run.invoker"
  member   = each.value
}
