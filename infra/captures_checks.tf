# Scheduled checks of captured tables: for each entry of `captures` with `checks` an account that reads the source and the dataset,
# writes temporary tables and the log of checks, and may ask the capture of this source for copies.
locals {
  capture_checks = {
    for name, capture in local.captures : name => merge(capture.checks, {
      account = google_service_account.check[name].email
      dataset = capture.dataset
      views   = local.view_datasets[capture.dataset]
      tenant  = coalesce(capture.source, name)
      secrets = distinct(concat(
        [coalesce(capture.checks.secret, capture.secret)],
        [for secret in local.capture_secret_ids[name] : secret if secret != capture.secret && !contains(values(capture.tls), secret)],
      ))
    }) if capture.checks != null
  }
  has_checks = length(local.capture_checks) > 0
  # Batches that read a source need a bucket for their files, and libraries.
  reads_sources = local.has_pulls || length([for capture in values(module.typed.captures) : capture if capture.checks != null]) > 0

  capture_check_shards = merge([
    for name, check in local.capture_checks : {
      for number, databases in chunklist(check.databases, check.databases_per_batch) : "${name} ${number + 1}" => {
        of = length(databases) == 1 ? "${name}/${databases[0]}" : "${length(databases)} databases of ${name}"
        arguments = merge(
          { source = name, databases = databases, captured = check.dataset, settle-seconds = check.settle_seconds },
          check.tenant == name ? {} : { tenant = check.tenant },
          check.fix ? { fix = true } : {},
        )
      }
    }
  ]...)
  capture_check_schedules = {
    for key, shard in local.capture_check_shards : "captured ${key}" => {
      name        = "${var.prefix}onefold-check-captured-${replace(key, " ", "-")}"
      description = "Checks the captured tables of ${shard.of} against the source."
      schedule    = var.check_schedule
      message     = jsonencode({ job = "check", arguments = shard.arguments })
    }
  }

  check_staging_names = { for name in keys(local.capture_checks) : name => "${local.bucket_prefix}-check-${name}" }
  check_staging = {
    for name, full in local.check_staging_names :
    name => length(full) <= 63 ? full : "${substr(full, 0, 54)}-${substr(sha256(full), 0, 8)}"
  }
  check_datasets = merge([
    for name, check in local.capture_checks : {
      for dataset in distinct([check.dataset, check.views]) : "${name} ${dataset}" => { check = name, dataset = dataset }
    }
  ]...)
  check_secrets = merge([
    for name, check in local.capture_checks : {
      for secret in check.secrets : "${name} ${secret}" => { check = name, secret = secret }
    }
  ]...)
}

resource "google_service_account" "check" {
  for_each = { for name, capture in module.typed.captures : name => capture if length(local.capture_faults) == 0 && capture.checks != null }

  account_id   = "${var.prefix}check-${each.key}"
  display_name = "Onefold: checks captured tables of ${each.key}"

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "check" {
  for_each = local.capture_checks

  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = "serviceAccount:${each.value.account}"
}

# As for the accounts of pulls.
resource "google_project_iam_member" "check_worker" {
  for_each = local.capture_checks

  project = var.project
  role    = "roles/dataproc.worker"
  member  = "serviceAccount:${each.value.account}"

  condition {
    title       = "staging bucket only"
    description = "Everything except Cloud Storage, and the staging bucket of these checks."
    expression  = format(local.staging_only, module.check_staging.names[each.key])
  }
}

resource "google_service_account_iam_member" "launch_check" {
  for_each = local.capture_checks

  service_account_id = "projects/${var.project}/serviceAccounts/${each.value.account}"
  role               = "roles/iam.serviceAccountUser"
  member             = "serviceAccount:${local.accounts["launch_batch"]}"
}

data "google_secret_manager_secret" "check" {
  for_each = toset([for one in values(local.check_secrets) : one.secret])

  project   = var.project
  secret_id = each.value
}

resource "google_secret_manager_secret_iam_member" "check" {
  for_each = local.check_secrets

  project   = var.project
  secret_id = data.google_secret_manager_secret.check[each.value.secret].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${local.capture_checks[each.value.check].account}"
}

module "check_staging" {
  source = "./modules/buckets"

  place   = local.bucket_place
  buckets = { for name, full in local.check_staging : name => { name = full, delete_days = var.staging_days } }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

resource "google_storage_bucket_iam_member" "check_staging" {
  for_each = local.capture_checks

  bucket = module.check_staging.names[each.key]
  role   = "roles/storage.objectUser"
  member = "serviceAccount:${each.value.account}"
}

resource "google_storage_bucket_iam_member" "check_code" {
  for_each = local.capture_checks

  bucket = module.buckets.names["artifacts"]
  role   = "roles/storage.objectViewer"
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "code of batches only"
    description = "Objects except the code of the functions."
    expression  = google_storage_bucket_iam_member.batch_code.condition[0].expression
  }
}

resource "google_storage_bucket_iam_member" "check_files" {
  for_each = local.capture_checks

  bucket = module.buckets.names["pulled"]
  role   = google_project_iam_custom_role.pull_objects[0].name
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "files of ${each.key} only"
    description = "The rows that checks of this source read."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["pulled"]}/objects/json/${each.key}/\")"
  }
}

resource "google_storage_bucket_iam_member" "check_names" {
  for_each = local.capture_checks

  bucket = module.buckets.names["pulled"]
  role   = google_project_iam_custom_role.pull_bucket[0].name
  member = "serviceAccount:${each.value.account}"
}

# A request for a copy is a new object: who posts it can neither read nor replace one, and no checkpoint.
resource "google_project_iam_custom_role" "check_copies" {
  count = local.has_checks ? 1 : 0

  role_id     = "${local.role_prefix}_check_copies"
  title       = "Onefold: asks captures for copies"
  permissions = ["storage.objects.create"]
}

resource "google_storage_bucket_iam_member" "check_copies" {
  for_each = { for name, check in local.capture_checks : name => check if check.fix }

  bucket = module.buckets.names["capture"]
  role   = google_project_iam_custom_role.check_copies[0].name
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "requests for copies of ${each.key} only"
    description = "The folder copies below the checkpoint of this source."
    expression  = "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["capture"]}/objects/${each.key}/copies/\")"
  }
}

# The rows of versions, of the base, and of the views over them.
resource "google_bigquery_dataset_iam_member" "check" {
  for_each = local.check_datasets

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.source.name
  member     = "serviceAccount:${local.capture_checks[each.value.check].account}"
}

# The right to create a table is one of the dataset: no condition on a name could hold.
resource "google_project_iam_custom_role" "check_create" {
  count = local.has_checks ? 1 : 0

  role_id     = "${local.role_prefix}_check_create"
  title       = "Onefold: creates tables of checks"
  permissions = ["bigquery.datasets.get", "bigquery.tables.create"]
}

resource "google_bigquery_dataset_iam_member" "check_create" {
  for_each = local.capture_checks

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.check_create[0].name
  member     = "serviceAccount:${each.value.account}"
}

resource "google_project_iam_custom_role" "check_rows" {
  count = local.has_checks ? 1 : 0

  role_id     = "${local.role_prefix}_check_rows"
  title       = "Onefold: writes tables of checks"
  permissions = ["bigquery.tables.update", "bigquery.tables.updateData"]
}

resource "google_bigquery_dataset_iam_member" "check_rows" {
  for_each = local.capture_checks

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.check_rows[0].name
  member     = "serviceAccount:${each.value.account}"

  condition {
    title       = "tables of checks only"
    description = "Temporary tables, onefold_tmp_…, and the log of checks"
    expression  = "${local.is_table} && (${local.is_temporary[each.value.dataset]} || resource.name == \"${local.tables_of[each.value.dataset]}/_checks\")"
  }
}

resource "google_bigquery_dataset_iam_member" "check_staging" {
  for_each = local.capture_checks

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.staging.name
  member     = "serviceAccount:${each.value.account}"

  condition {
    title       = "temporary tables only"
    description = "Temporary tables of checks, onefold_tmp_…"
    expression  = "${local.is_table} && ${local.is_temporary[each.value.dataset]}"
  }
}
