locals {
  endpoints = { for name in keys(local.functions) : name => google_cloudfunctions2_function.function[name].service_config[0].uri }
}

# Each function has a push subscription instead of an Eventarc trigger, whose subscription keeps messages for only 24 hours
# and has no dead letters.
resource "google_pubsub_subscription" "push" {
  for_each = local.functions

  name                       = replace("${var.prefix}${each.key}", "_", "-")
  topic                      = google_pubsub_topic.topic[each.value.listens].id
  message_retention_duration = local.week
  # A message must not be delivered again while the function handles it: the timeout, and a minute to start an instance.
  ack_deadline_seconds = each.value.timeout + 60

  push_config {
    push_endpoint = local.endpoints[each.key]

    oidc_token {
      service_account_email = local.accounts["push_${each.key}"]
      audience              = local.endpoints[each.key]
    }
  }

  retry_policy {
    minimum_backoff = "10s"
    maximum_backoff = "600s"
  }

  # 100 deliveries, the maximum of Pub/Sub, take about 16 hours: enough to correct a setting, and for a request to wait until
  # another batch ends.
  dead_letter_policy {
    dead_letter_topic     = google_pubsub_topic.topic["dead-letter"].id
    max_delivery_attempts = 100
  }

  expiration_policy {
    ttl = "" # never
  }
}

# The account that signs the push may call only this function.
resource "google_cloud_run_service_iam_member" "push" {
  for_each = local.functions

  location = var.region
  service  = google_cloudfunctions2_function.function[each.key].name
  role     = "roles/run.invoker"
  member   = "serviceAccount:${local.accounts["push_${each.key}"]}"
}

# The agent of Pub/Sub signs for the account. Its role includes the right in projects created since April 2021.
resource "google_service_account_iam_member" "push" {
  for_each = local.functions

  service_account_id = "projects/${var.project}/serviceAccounts/${local.accounts["push_${each.key}"]}"
  role               = "roles/iam.serviceAccountOpenIdTokenCreator"
  member             = local.pubsub_agent

  depends_on = [google_pubsub_subscription.push]
}

# The agent of Pub/Sub publishes a dead letter, and then acknowledges the message at its subscription.
resource "google_pubsub_topic_iam_member" "dead_letter" {
  topic  = google_pubsub_topic.topic["dead-letter"].id
  role   = "roles/pubsub.publisher"
  member = local.pubsub_agent

  depends_on = [google_pubsub_subscription.push]
}

resource "google_pubsub_subscription_iam_member" "dead_letter" {
  for_each = local.functions

  subscription = google_pubsub_subscription.push[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}

locals {
  # The checked form of onefold.yaml, as `onefold settings check --write` makes it: the variable refuses any other state of both files.
  settings_form = "${coalesce(var.settings_folder, "${path.module}/..")}/onefold.checked.json"

  # The names of versioned tables in each dataset: the variable's, else those of the tables' settings that are deployed, else
  # what onefold.core.versioned_names has. Views have other names, so that a refresh's own writes call nobody.
  tables_settings = jsondecode(fileexists(local.settings_form) ? file(local.settings_form) : jsonencode({ settings = {} })).settings
  default_pattern = coalesce(try(local.tables_settings.version_pattern, null), "(?P<base>.+)_v_(?P<version>[0-9a-f]{1,64})")
  given_patterns  = try({ for name, settings in local.tables_settings.datasets : name => settings.version_pattern if can(settings.version_pattern) }, {})
  version_patterns = {
    for name in var.datasets : name => trimsuffix(trimprefix(coalesce(
      lookup(var.version_patterns, name, null),
      lookup(local.given_patterns, name, null),
      local.default_pattern,
    ), "^"), "$")
  }
  # A function compares the names of views with every naming that it knows, whichever datasets are deployed.
  known_patterns = distinct(concat(values(local.version_patterns), [local.default_pattern], values(local.given_patterns)))
}

module "audit_filter" {
  source = "./modules/audit_filter"

  project            = var.project
  version_patterns   = local.version_patterns
  any_table_datasets = keys(local.plain_datasets)
}

# Tables that were not announced.
resource "google_logging_project_sink" "tables" {
  name                   = "${var.prefix}onefold-tables"
  description            = "Entries of the audit log about ${length(local.plain_datasets) == 0 ? "versioned" : "change"} tables that were created, altered or deleted."
  destination            = "pubsub.googleapis.com/${google_pubsub_topic.topic["table-created"].id}"
  unique_writer_identity = true
  filter                 = module.audit_filter.filter
}

resource "google_pubsub_topic_iam_member" "sink" {
  topic  = google_pubsub_topic.topic["table-created"].id
  role   = "roles/pubsub.publisher"
  member = google_logging_project_sink.tables.writer_identity
}
