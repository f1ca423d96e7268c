# The schema registry: a bucket with schemas, and the function schema_registry, which is called by HTTP. Nothing of this exists
# without the variable `schema_registry`.
locals {
  has_registry = var.schema_registry != null
  registry = {
    keys       = try(module.typed.schema_registry.keys, null)
    public     = try(module.typed.schema_registry.public, [])
    order      = try(module.typed.schema_registry.order, "by-addition")
    patches    = try(module.typed.schema_registry.patches, false)
    warehouses = try(module.typed.schema_registry.warehouses, [])
    callers    = try(module.typed.schema_registry.callers, [])
  }
  registry_keys     = local.has_registry && local.registry.keys != null ? toset([local.registry.keys]) : toset([])
  registry_name     = "${local.bucket_prefix}-registry"
  registry_objects  = "projects/_/buckets/${local.registry_name}/objects"
  registry_key_path = "/registry-keys"

  # Schemas are never deleted: data refers to them for as long as it exists. So the bucket outlives the deployment, and an index
  # that somebody overwrote can be had back.
  registry_bucket = { for key in local.has_registry ? ["registry"] : [] : key => { name = local.registry_name, kept = true, old_versions_days = 90 } }

  registry_environment = {
    ONEFOLD_PROJECT             = var.project
    ONEFOLD_CHANGES_DATASET     = var.changes_dataset == null ? "" : google_bigquery_dataset.changes[0].dataset_id
    ONEFOLD_REGISTRY            = "gs://${local.registry_name}"
    ONEFOLD_REGISTRY_ORDER      = local.registry.order
    ONEFOLD_REGISTRY_PATCHES    = local.registry.patches ? "allowed" : ""
    ONEFOLD_REGISTRY_WAREHOUSES = join(",", local.registry.warehouses)
    ONEFOLD_REGISTRY_PUBLIC     = join(",", local.registry.public)
    ONEFOLD_REGISTRY_KEYS       = local.registry.keys == null ? "" : "${local.registry_key_path}/keys.json"
  }
  # A request waits for Cloud Storage nearly all of its time. Schemas that were read are kept. The timeout: thirty tries with pauses
  # of up to four seconds.
  registry_function = {
    for name in local.has_registry ? ["schema_registry"] : [] : name => {
      description = "Answers requests to the schema registry."
      memory      = "512Mi"
      concurrency = 8
      instances   = 4
      timeout     = 300
      ingress     = var.schema_registry_ingress
      environment = local.registry_environment
      secrets     = { for key in local.registry_keys : local.registry_key_path => { secret = data.google_secret_manager_secret.registry[key].secret_id, file = "keys.json" } }
    }
  }
}

# Import the bucket if an earlier deployment left it. This has no effect on a bucket that is in the state already.
import {
  for_each = toset(local.has_registry && var.adopt_registry_bucket ? [local.registry_name] : [])
  to       = module.buckets.google_storage_bucket.kept["registry"]
  id       = each.value
}

# The function reads and adds objects. It replaces the index, and a schema only where patches are allowed: a replacement needs
# the right to delete, since Cloud Storage deletes the object and creates another.
resource "google_storage_bucket_iam_member" "registry" {
  for_each = local.has_registry ? toset(["roles/storage.objectViewer", "roles/storage.objectCreator"]) : toset([])

  bucket = module.buckets.names["registry"]
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

  bucket = module.buckets.names["registry"]
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

# Who may call the function at all, before it looks at a key. Tools for Iglu send a key only, and no token of Google.
resource "google_cloud_run_service_iam_member" "registry" {
  for_each = toset(local.has_registry ? local.registry.callers : [])

  location = var.region
  service  = google_cloudfunctions2_function.function["schema_registry"].name
  role     = "roles/run.invoker"
  member   = each.value
}
