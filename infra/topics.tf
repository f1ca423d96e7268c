locals {
  topics = toset(concat(["table-created", "batch-requests", "schema-changes", "change-records", "dead-letter"], local.has_events ? ["shredded-runs"] : [], local.has_pages ? ["page-requests"] : []))
  week   = "604800s"
}

resource "google_pubsub_topic" "topic" {
  for_each = local.topics

  name         = "${var.prefix}${each.value}"
  kms_key_name = var.kms_key
  # The topic retains messages, so that a later subscriber can seek back to earlier announcements.
  message_retention_duration = each.value == "schema-changes" ? local.week : null

  # Topics with rows store them only in the region of the deployment.
  dynamic "message_storage_policy" {
    for_each = contains(["change-records", "dead-letter"], each.value) ? [var.region] : []
    content {
      allowed_persistence_regions = [message_storage_policy.value]
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# A topic without a subscription stores no messages. A person reads this subscription: docs/how-to/replay-dead-letters.md.
resource "google_pubsub_subscription" "dead_letter" {
  name                       = "${var.prefix}dead-letter"
  topic                      = google_pubsub_topic.topic["dead-letter"].id
  message_retention_duration = local.week
  ack_deadline_seconds       = 60

  expiration_policy {
    ttl = "" # never: the default deletes a subscription that nobody reads for 31 days
  }
}

# A batch that updates a view announces schema changes, as refresh_view does.
resource "google_pubsub_topic_iam_member" "batch" {
  topic  = google_pubsub_topic.topic["schema-changes"].id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${local.accounts["batch"]}"
}

# The topics that each function may publish to.
resource "google_pubsub_topic_iam_member" "publisher" {
  for_each = {
    for pair in flatten([for name, function in local.functions : [for topic in function.publishes : { function = name, topic = topic }]]) :
    "${pair.function} ${pair.topic}" => pair
  }

  topic  = google_pubsub_topic.topic[each.value.topic].id
  role   = "roles/pubsub.publisher"
  member = "serviceAccount:${local.accounts[each.value.function]}"
}
