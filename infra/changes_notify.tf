# A job that notifies the owners of onefold.yaml of changes, by a schedule. Its account reads the ledger and the addresses of
# webhooks, and appends whom it has notified. Nothing of this exists without the variable `notify_schedule`.
locals {
  notifying = var.notify_schedule == null ? toset([]) : toset(["notify"])
  owners    = try({ for pattern, owner in local.tables_settings.owners : pattern => owner }, {})

  # Project and name of the secret with the address of each webhook: the job has no file and no variable with an address.
  webhook_secret = "^projects/([^/]+)/secrets/([A-Za-z0-9_-]{1,255})(?:/versions/[^/]+)?$"
  webhooks = {
    for reference in distinct([for owner in values(local.owners) : owner.webhook if can(owner.webhook)]) : reference => regex(local.webhook_secret, reference)
    if can(regex(local.webhook_secret, reference))
  }
  webhook_secrets = length(local.notifying) == 0 ? {} : { for secret in values(local.webhooks) : join("/", secret) => { project = secret[0], id = secret[1] }... }

  digest_topics = length(local.notifying) == 0 ? toset([]) : toset([for owner in values(local.owners) : owner.topic if can(owner.topic)])

  # The address of each owner that gets an e-mail, by its pattern.
  mailed = length(local.notifying) == 0 ? {} : { for pattern, owner in local.owners : pattern => owner.email if can(owner.email) }

  notify_problems = flatten([
    [for problem, wrong in {
      "onefold.yaml names no owners: add `owners` with a pattern of tables and its webhook, topic or email"   = length(local.owners) == 0
      "changes_dataset is missing: it names the dataset of the ledger"                                        = var.changes_dataset == null
      "capture_image is missing: it has the code of the job; build it with make image, docs/how-to/deploy.md" = var.capture_image == null
    } : problem if wrong],
    [for pattern, owner in local.owners : "owners.${pattern}: webhook must be a secret of Secret Manager, projects/P/secrets/S: the job has no other place" if can(owner.webhook) && !can(local.webhooks[owner.webhook])],
  ])
}

resource "google_service_account" "notify" {
  for_each = local.notifying

  account_id   = "${var.prefix}onefold-notify"
  display_name = "Onefold: notifies owners of changes"

  depends_on = [google_project_service.api]
}

resource "google_project_iam_member" "notify" {
  for_each = local.notifying

  project = var.project
  role    = "roles/bigquery.jobUser"
  member  = "serviceAccount:${google_service_account.notify[each.key].email}"
}

resource "google_project_iam_member" "notify_log" {
  for_each = local.notifying

  project = var.project
  role    = "roles/logging.logWriter"
  member  = "serviceAccount:${google_service_account.notify[each.key].email}"
}

# On the dataset, since BigQuery says of a table that is missing, as that of readers may be, only there that it is missing.
resource "google_project_iam_custom_role" "notify_ledger" {
  for_each = local.notifying

  role_id     = "${local.role_prefix}_notify_ledger"
  title       = "Onefold: reads the ledger of changes"
  permissions = ["bigquery.tables.get", "bigquery.tables.getData"]
}

resource "google_bigquery_dataset_iam_member" "notify" {
  for_each = local.notifying

  dataset_id = google_bigquery_dataset.changes[0].dataset_id
  role       = google_project_iam_custom_role.notify_ledger[each.key].name
  member     = "serviceAccount:${google_service_account.notify[each.key].email}"
}

# A test holds the columns against those that the code writes.
resource "google_bigquery_table" "notifications" {
  #checkov:skip=CKV_GCP_80:its dataset has a key for new tables, where var.kms_key names one
  for_each = local.notifying

  dataset_id          = google_bigquery_dataset.changes[0].dataset_id
  table_id            = "schema_change_notifications"
  description         = "Of which changes owners were notified: onefold changes notify."
  labels              = var.labels
  schema              = file("${path.module}/schema_change_notifications.json")
  deletion_protection = true
}

# On this table alone. INSERT needs the right that UPDATE and DELETE need, too: the role above reads, and this one writes rows.
resource "google_project_iam_custom_role" "notify_rows" {
  for_each = local.notifying

  role_id     = "${local.role_prefix}_notify_rows"
  title       = "Onefold: appends of which changes owners were notified"
  permissions = ["bigquery.tables.get", "bigquery.tables.getData", "bigquery.tables.updateData"]
}

resource "google_bigquery_table_iam_member" "notify" {
  for_each = local.notifying

  dataset_id = google_bigquery_table.notifications[each.key].dataset_id
  table_id   = google_bigquery_table.notifications[each.key].table_id
  role       = google_project_iam_custom_role.notify_rows[each.key].name
  member     = "serviceAccount:${google_service_account.notify[each.key].email}"
}

# A person creates the secret and its versions, so that no address gets into Terraform and its state.
data "google_secret_manager_secret" "webhook" {
  for_each = local.webhook_secrets

  project   = each.value[0].project
  secret_id = each.value[0].id
}

resource "google_secret_manager_secret_iam_member" "notify" {
  for_each = local.webhook_secrets

  project   = each.value[0].project
  secret_id = data.google_secret_manager_secret.webhook[each.key].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${google_service_account.notify["notify"].email}"
}

# The topics of owners are theirs: Terraform makes none.
resource "google_pubsub_topic_iam_member" "notify" {
  for_each = local.digest_topics

  topic  = each.value
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${google_service_account.notify["notify"].email}"
}

resource "google_artifact_registry_repository_iam_member" "notify" {
  for_each = local.notifying

  location   = google_artifact_registry_repository.capture.location
  repository = google_artifact_registry_repository.capture.repository_id
  role       = "roles/artifactregistry.reader"
  member     = "serviceAccount:${google_service_account.notify[each.key].email}"
}

resource "google_cloud_run_v2_job" "notify" {
  for_each = local.notifying

  name                = "${var.prefix}onefold-notify"
  location            = var.region
  deletion_protection = false # it keeps nothing
  labels              = local.labels

  template {
    template {
      service_account = google_service_account.notify[each.key].email
      encryption_key  = var.kms_key
      max_retries     = 0 # the next run is the retry
      timeout         = "540s"

      containers {
        image   = var.capture_image
        command = ["onefold"]
        args    = ["changes", "notify", "--json"]

        resources {
          limits = { cpu = "1", memory = "1Gi" }
        }
        env {
          name  = "ONEFOLD_PROJECT"
          value = var.project
        }
        env {
          name  = "ONEFOLD_CHANGES_DATASET"
          value = google_bigquery_dataset.changes[0].dataset_id
        }
        # The image has no file of settings, and the job needs no others of it.
        env {
          name  = "ONEFOLD_OWNERS"
          value = jsonencode(local.owners)
        }
      }
    }
  }

  depends_on = [google_project_service.api, google_artifact_registry_repository_iam_member.notify, google_kms_crypto_key_iam_member.agent]
}

resource "google_cloud_run_v2_job_iam_member" "notify" {
  for_each = local.notifying

  name     = google_cloud_run_v2_job.notify[each.key].name
  location = google_cloud_run_v2_job.notify[each.key].location
  role     = "roles/run.invoker"
  member   = "serviceAccount:${google_service_account.notify[each.key].email}"
}

resource "google_cloud_scheduler_job" "notify" {
  for_each = local.notifying

  name        = "${var.prefix}onefold-notify"
  description = "Notifies owners of changes."
  region      = var.region
  schedule    = var.notify_schedule
  time_zone   = var.time_zone

  http_target {
    http_method = "POST"
    uri         = "https://run.googleapis.com/v2/${google_cloud_run_v2_job.notify[each.key].id}:run"

    oauth_token {
      service_account_email = google_service_account.notify[each.key].email
    }
  }

  depends_on = [google_project_service.api, google_cloud_run_v2_job_iam_member.notify]
}

resource "google_monitoring_notification_channel" "owner" {
  for_each = toset(values(local.mailed))

  display_name = "${var.prefix}Onefold: owner of tables"
  type         = "email"
  labels       = { email_address = each.value }

  depends_on = [google_project_service.api]
}

# The job writes a line for each digest (onefold/changes/email.py). Its digest is a label, so that each one is an incident, and an e-mail.
resource "google_monitoring_alert_policy" "owner" {
  for_each = local.mailed

  display_name          = "${var.prefix}Onefold: changes of ${each.key}"
  combiner              = "OR"
  severity              = "WARNING"
  notification_channels = [google_monitoring_notification_channel.owner[each.value].name]

  conditions {
    display_name = "changes of ${each.key}"

    condition_matched_log {
      filter = join(" AND ", [
        "resource.type=\"cloud_run_job\"",
        "resource.labels.job_name=\"${google_cloud_run_v2_job.notify["notify"].name}\"",
        "jsonPayload.event=\"owner_digest\"",
        "jsonPayload.owner=${jsonencode(each.key)}",
      ])
      label_extractors = { for name in ["digest", "text", "shown"] : name => "EXTRACT(jsonPayload.${name})" }
    }
  }

  alert_strategy {
    auto_close = "1800s"

    notification_rate_limit {
      period = "300s"
    }
  }

  documentation {
    content = "$${log.extracted_label.text}\n\n$${log.extracted_label.shown}"
  }
}
