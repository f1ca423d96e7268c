locals {
  spark_files = merge(
    { "spark.zip" = "${local.package}/spark.zip" },
    { for name in fileset("${path.module}/../spark_jobs", "*.py") : name => "${path.module}/../spark_jobs/${name}" },
    # The tables' own settings, where the checkout has them: the functions' package holds the same file.
    fileexists("${path.module}/../onefold.yaml") ? { "onefold.yaml" = "${path.module}/../onefold.yaml" } : {},
  )
  # One folder for one state of the code: a batch never meets a job of one state and an archive of another.
  spark_digest = sha256(join(" ", [for name, path in local.spark_files : "${name} ${filesha256(path)}"]))
  spark_folder = "spark/${substr(local.spark_digest, 0, 16)}"

  batch_environment = {
    ONEFOLD_BATCH_REGION          = var.region
    ONEFOLD_BATCH_RUNTIME_VERSION = var.batch_runtime_version
    ONEFOLD_BATCH_SERVICE_ACCOUNT = local.accounts["batch"]
    ONEFOLD_BATCH_SUBNET          = local.subnetwork
    ONEFOLD_BATCH_BUCKET          = google_storage_bucket.staging.name
    ONEFOLD_BATCH_KMS_KEY         = var.kms_key == null ? "" : var.kms_key
    ONEFOLD_BATCH_PROPERTIES      = length(var.batch_properties) > 0 ? jsonencode(var.batch_properties) : ""
    ONEFOLD_BATCH_LABELS          = join(",", [for key, value in local.labels : "${key}=${value}"])
    ONEFOLD_BATCH_TTL             = var.batch_ttl
    ONEFOLD_BATCH_FOLDERS         = join(",", concat(["gs://${google_storage_bucket.staging.name}"], var.batch_folders))
    ONEFOLD_BATCH_CODE            = "gs://${google_storage_bucket.artifacts.name}/${local.spark_folder}"
  }
}

resource "google_storage_bucket_object" "spark" {
  for_each = local.spark_files

  name   = "${local.spark_folder}/${each.key}"
  bucket = google_storage_bucket.artifacts.name
  source = each.value
  # A batch that was created before an upgrade and starts after it still finds its code. Some 100 KB for each upgrade.
  deletion_policy = "ABANDON"

  lifecycle {
    create_before_destroy = true
  }
}
