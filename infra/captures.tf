# One process of capture for each entry of `captures`: an account with rights for this source only, and a worker pool of
# Cloud Run with one instance that always runs.
locals {
  # If an entry is invalid, no process is planned: the output `captures` reports the problems of all entries.
  captures = {
    for name, capture in module.typed.captures : name => merge(capture, {
      full_name = "${var.prefix}capture-${name}"
      source    = coalesce(capture.source, name)
      account   = try(coalesce(capture.service_account), google_service_account.capture[name].email, null)
      records   = "${local.large_records_folder}/${name}"
    }) if length(local.capture_faults) == 0
  }
  worker_pools = { for name, capture in local.captures : name => capture if capture.worker_pool }

  capture_topics = ["change-records", "table-created", "schema-changes"]

  # The rules of columns that the tables' settings have for a source, and where the key of their hashes lies: in a secret of the
  # project, else beside the clean views of the dataset.
  capture_rules = { for name, capture in local.captures : name => local.tables_settings.captures[capture.source] if can(local.tables_settings.captures[capture.source].tables) }
  capture_keys  = { for name, rules in local.capture_rules : name => try(rules.hash_key, null) if anytrue([for table in values(rules.tables) : can(table.hash)]) }

  ruled_sources = toset(try(keys(local.tables_settings.captures), []))

  capture_secret_ids = {
    for name, capture in local.captures : name => distinct(concat(
      [capture.secret], values(capture.tls),
      try([regex("^projects/${var.project}/secrets/([A-Za-z0-9_-]+)", local.capture_keys[name])[0]], []),
    ))
  }
  capture_secrets = toset(flatten(values(local.capture_secret_ids)))
}

# Rules of a misspelled source would hold for nothing, and columns would land as they are.
check "rules_of_captures" {
  assert {
    condition     = length(module.typed.captures) == 0 || length(setsubtract(local.ruled_sources, local.capture_sources)) == 0
    error_message = "onefold.yaml has rules of columns for ${join(", ", setsubtract(local.ruled_sources, local.capture_sources))}, and `captures` has no such source: it has ${join(", ", sort(local.capture_sources))}. Correct the name, unless another deployment captures that source."
  }
}

resource "google_service_account" "capture" {
  for_each = { for name, capture in module.typed.captures : name => capture if length(local.capture_faults) == 0 && capture.service_account == null }

  account_id   = "${var.prefix}capture-${each.key}"
  display_name = "Onefold: capture of ${each.key}"

  depends_on = [google_project_service.api]
}

# Capture queries for rows that a copy did not find any more. Cloud Run writes the log; on another machine the account does.
resource "google_project_iam_member" "capture" {
  for_each = {
    for pair in setproduct(keys(local.captures), ["bigquery.jobUser", "logging.logWriter"]) :
    "${pair[0]} ${pair[1]}" => { capture = pair[0], role = pair[1] }
  }

  project = var.project
  role    = "roles/${each.value.role}"
  member  = "serviceAccount:${local.captures[each.value.capture].account}"
}

# Capture creates versioned tables, and reads existing ones to find rows that a snapshot did not contain. It writes no rows.
resource "google_project_iam_custom_role" "capture" {
  role_id     = "${local.role_prefix}_capture"
  title       = "Onefold: makes versioned tables"
  permissions = concat(local.metadata_permissions, ["bigquery.tables.getData", "bigquery.tables.create"])
}

resource "google_bigquery_dataset_iam_member" "capture" {
  for_each = local.captures

  dataset_id = data.google_bigquery_dataset.named[each.value.dataset].dataset_id
  role       = google_project_iam_custom_role.capture.name
  member     = "serviceAccount:${each.value.account}"
}

# The topics of rows, of new versions, and of schema changes and truncations.
resource "google_pubsub_topic_iam_member" "capture" {
  for_each = {
    for pair in setproduct(keys(local.captures), local.capture_topics) :
    "${pair[0]} ${pair[1]}" => { capture = pair[0], topic = pair[1] }
  }

  topic  = google_pubsub_topic.topic[each.value.topic].id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${local.captures[each.value.capture].account}"
}

# Replacing an object needs the right to delete it: Cloud Storage deletes the object and creates another.
resource "google_project_iam_custom_role" "capture_objects" {
  role_id     = "${local.role_prefix}_capture_objects"
  title       = "Onefold: keeps checkpoints and large rows"
  permissions = ["storage.objects.create", "storage.objects.delete", "storage.objects.get"]
}

resource "google_storage_bucket_iam_member" "capture" {
  for_each = local.captures

  bucket = module.buckets.names["capture"]
  role   = google_project_iam_custom_role.capture_objects.name
  member = "serviceAccount:${each.value.account}"

  condition {
    title       = "objects of ${each.key} only"
    description = "The checkpoint and the large records of this source only."
    expression = join(" || ", [
      for folder in [each.key, each.value.records] :
      "resource.name.startsWith(\"projects/_/buckets/${module.buckets.names["capture"]}/objects/${folder}/\")"
    ])
  }
}

# Without the right to list a bucket, Cloud Storage may answer 403 instead of 404 for a missing object, and the first start of
# a source finds no checkpoint. The right shows names of objects in the bucket, but no content.
resource "google_project_iam_custom_role" "capture_names" {
  role_id     = "${local.role_prefix}_capture_names"
  title       = "Onefold: sees which objects there are"
  permissions = ["storage.objects.list"]
}

resource "google_storage_bucket_iam_member" "capture_names" {
  for_each = local.captures

  bucket = module.buckets.names["capture"]
  role   = google_project_iam_custom_role.capture_names.name
  member = "serviceAccount:${each.value.account}"
}

# A person creates the secret and its versions, so that no password gets into Terraform and its state.
data "google_secret_manager_secret" "capture" {
  for_each = local.capture_secrets

  project   = var.project
  secret_id = each.value
}

resource "google_secret_manager_secret_iam_member" "capture" {
  for_each = merge([
    for name, secrets in local.capture_secret_ids : {
      for secret in secrets : "${name} ${secret}" => { capture = name, secret = secret }
    }
  ]...)

  project   = var.project
  secret_id = data.google_secret_manager_secret.capture[each.value.secret].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${local.captures[each.value.capture].account}"
}

# Images are never deleted: an instance that has run for a year needs its image when it is restarted.
resource "google_artifact_registry_repository" "capture" {
  repository_id = "${var.prefix}onefold-capture"
  location      = var.region
  format        = "DOCKER"
  description   = "Images of Onefold's capture."
  kms_key_name  = var.kms_key

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

resource "google_artifact_registry_repository_iam_member" "capture" {
  for_each = local.captures

  location   = google_artifact_registry_repository.capture.location
  repository = google_artifact_registry_repository.capture.repository_id
  role       = "roles/artifactregistry.reader"
  member     = "serviceAccount:${each.value.account}"
}

resource "google_artifact_registry_repository_iam_member" "build_capture" {
  location   = google_artifact_registry_repository.capture.location
  repository = google_artifact_registry_repository.capture.repository_id
  role       = "roles/artifactregistry.writer"
  member     = "serviceAccount:${local.accounts["build"]}"
}

# Rights of a new account take effect after one or two minutes; Cloud Run refuses an instance that may not read its secret.
resource "terraform_data" "capture_rights" {
  for_each = local.worker_pools

  triggers_replace = [
    each.value.account,
    [for key, grant in google_secret_manager_secret_iam_member.capture : grant.id if startswith(key, "${each.key} ")],
    google_storage_bucket_iam_member.capture[each.key].id,
    google_bigquery_dataset_iam_member.capture[each.key].id,
  ]

  provisioner "local-exec" {
    command = "sleep ${var.build_wait_seconds}"
  }
}

resource "google_cloud_run_v2_worker_pool" "capture" {
  for_each = local.worker_pools

  name                = each.value.full_name
  location            = var.region
  description         = "Onefold: follows the log of ${each.value.source}."
  deletion_protection = false # all that it has to keep is in its checkpoint

  # A log has one reader. If two processes use one checkpoint, the older one ends by itself, so revisions may overlap.
  scaling {
    scaling_mode          = "MANUAL"
    manual_instance_count = 1
  }

  template {
    service_account = each.value.account
    encryption_key  = var.kms_key

    containers {
      image = var.capture_image
      args  = local.capture_arguments[each.key]

      resources {
        limits = { cpu = each.value.cpu, memory = each.value.memory }
      }

      # As the health check of the image: a process that waits is healthy, and one that hangs is started again.
      dynamic "liveness_probe" {
        for_each = each.value.metrics_port == null ? [] : [each.value.metrics_port]
        content {
          initial_delay_seconds = 120
          period_seconds        = 60
          timeout_seconds       = 10
          failure_threshold     = 3
          http_get {
            path = "/healthz"
            port = liveness_probe.value
          }
        }
      }

      dynamic "env" {
        for_each = local.capture_environments[each.key]
        content {
          name  = env.key
          value = env.value
        }
      }
      env {
        name = "ONEFOLD_SOURCE_PASSWORD"
        value_source {
          secret_key_ref {
            secret  = data.google_secret_manager_secret.capture[each.value.secret].secret_id
            version = each.value.secret_version
          }
        }
      }

      dynamic "volume_mounts" {
        for_each = each.value.tls
        content {
          name       = "tls-${volume_mounts.key}"
          mount_path = "/tls/${volume_mounts.key}"
        }
      }
    }

    dynamic "volumes" {
      for_each = each.value.tls
      content {
        name = "tls-${volumes.key}"
        secret {
          secret = data.google_secret_manager_secret.capture[volumes.value].secret_id
          items {
            path    = "file"
            version = "latest"
          }
        }
      }
    }

    dynamic "vpc_access" {
      for_each = each.value.network == null && each.value.subnetwork == null ? [] : [each.value]
      content {
        egress = vpc_access.value.egress
        network_interfaces {
          network    = vpc_access.value.network
          subnetwork = vpc_access.value.subnetwork
        }
      }
    }
  }

  # Its first process starts at once. The functions come before it, since they have to know the messages of its release.
  depends_on = [
    google_cloudfunctions2_function.function,
    google_project_service.api,
    google_project_iam_member.capture,
    google_pubsub_topic_iam_member.capture,
    google_storage_bucket_iam_member.capture_names,
    google_artifact_registry_repository_iam_member.capture,
    google_kms_crypto_key_iam_member.agent,
    terraform_data.capture_rights,
  ]
}

# The options of the command (docs/reference/cli.md). `--name=value` is one word, so that a value may begin with a hyphen.
locals {
  capture_arguments = {
    for name, capture in local.captures : name => concat(
      [for option in ["source", "host", "port", "user", "dataset"] : "--${option}=${capture[option]}"],
      ["--checkpoint=gs://${module.buckets.names["capture"]}/${name}"],
      [for pattern in capture.include : "--include=${pattern}"],
      [for pattern in capture.exclude : "--exclude=${pattern}"],
      [for option in ["server_id", "epoch", "start", "gtid", "copy_rate", "copy_window", "flush_seconds", "metrics_port"] : "--${replace(option, "_", "-")}=${capture[option]}" if capture[option] != null],
      [for option in ["snapshot", "gtid_failover", "tls_any_name"] : "--${replace(option, "_", "-")}" if capture[option]],
      [for part in sort(keys(capture.tls)) : "--tls-${part}=/tls/${part}/file"],
    )
  }
  capture_environments = {
    for name, capture in local.captures : name => merge(
      {
        ONEFOLD_PROJECT              = var.project
        ONEFOLD_TOPIC_CHANGE_RECORDS = google_pubsub_topic.topic["change-records"].name
        ONEFOLD_TOPIC_TABLE_CREATED  = google_pubsub_topic.topic["table-created"].name
        ONEFOLD_TOPIC_SCHEMA_CHANGES = google_pubsub_topic.topic["schema-changes"].name
        ONEFOLD_LARGE_RECORDS        = "gs://${module.buckets.names["capture"]}/${capture.records}"
      },
      # The image has no file of settings, and the process needs no others of it.
      { for entry, rules in local.capture_rules : "ONEFOLD_CAPTURES" => jsonencode({ (capture.source) = rules }) if entry == name },
    )
  }
}
