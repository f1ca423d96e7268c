locals {
  spark_files = merge(
    { "spark.zip" = "${local.package}/spark.zip" },
    { for name in fileset("${path.module}/../spark_jobs", "*.py") : name => "${path.module}/../spark_jobs/${name}" },
    # What batches that pull tables or shred events need, and the runtime does not have (infra/libraries.py).
    { for name in concat(local.pull_libraries, local.compiled_libraries) : name => "${local.package}/${name}" },
    # The checked form of onefold.yaml, if the checkout has one: the package of the functions contains the same file.
    fileexists(local.settings_form) ? { "onefold.checked.json" = local.settings_form } : {},
  )
  pull_libraries     = local.reads_sources ? ["pymysql.zip"] : []
  compiled_libraries = local.reads_sources || length(local.shreds) > 0 ? ["compiled_libraries.zip"] : []
  # One folder for each state of the code, so that a batch never combines a job and an archive of different states.
  spark_digest = sha256(join(" ", [for name, path in local.spark_files : "${name} ${filesha256(path)}"]))
  spark_folder = "spark/${substr(local.spark_digest, 0, 16)}"

  batch_environment = {
    ONEFOLD_BATCH_REGION          = var.region
    ONEFOLD_BATCH_RUNTIME_VERSION = var.batch_runtime_version
    ONEFOLD_BATCH_SERVICE_ACCOUNT = local.accounts["batch"]
    ONEFOLD_BATCH_SUBNET          = local.subnetwork
    ONEFOLD_BATCH_BUCKET          = module.buckets.names["staging"]
    ONEFOLD_BATCH_KMS_KEY         = var.kms_key == null ? "" : var.kms_key
    ONEFOLD_BATCH_PROPERTIES      = length(var.batch_properties) > 0 ? jsonencode(var.batch_properties) : ""
    ONEFOLD_BATCH_LABELS          = join(",", [for key, value in local.labels : "${key}=${value}"])
    ONEFOLD_BATCH_TTL             = var.batch_ttl
    ONEFOLD_BATCH_FOLDERS         = join(",", concat(["gs://${module.buckets.names["staging"]}"], var.batch_folders, local.shred_read, local.shred_written))
    ONEFOLD_BATCH_CODE            = "gs://${module.buckets.names["artifacts"]}/${local.spark_folder}"
  }
}

resource "google_storage_bucket_object" "spark" {
  for_each = local.spark_files

  name   = "${local.spark_folder}/${each.key}"
  bucket = module.buckets.names["artifacts"]
  source = each.value
  # Old code stays: a batch that was created before an upgrade and starts later still needs it. Each upgrade adds 100 KB.
  deletion_policy = "ABANDON"

  lifecycle {
    create_before_destroy = true
  }
}
