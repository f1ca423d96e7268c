# With a project and a region alone: the whole system, rights on no dataset yet.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project = "my-project"
  region  = "europe-west1"
}

run "no_optional_input_is_needed" {
  command = plan

  expect_failures = [check.datasets] # a warning: no dataset is named

  assert {
    condition     = toset(keys(google_pubsub_topic.topic)) == toset(["table-created", "batch-requests", "schema-changes", "change-records", "dead-letter"])
    error_message = "There are five topics."
  }
  assert {
    condition     = toset(keys(google_cloudfunctions2_function.function)) == toset(["refresh_view", "launch_batch", "sink_records"])
    error_message = "There are three functions."
  }
  assert {
    condition     = length(google_bigquery_dataset_iam_member.refresh_view) + length(google_bigquery_dataset_iam_member.batch) + length(google_bigquery_dataset_iam_member.sink_records) + length(google_bigquery_dataset_iam_member.capture) == 0
    error_message = "No dataset is named, so no right is given on any."
  }
  assert {
    condition     = length(google_service_account.capture) + length(google_cloud_run_v2_worker_pool.capture) + length(google_monitoring_alert_policy.silent_capture) == 0
    error_message = "No source is named, so none is captured."
  }
  assert {
    condition     = !contains(keys(google_project_service.api), "secretmanager.googleapis.com")
    error_message = "Without a source no API is enabled for it."
  }
  assert {
    condition     = length(google_kms_crypto_key_iam_member.agent) == 0 && alltrue([for t in google_pubsub_topic.topic : t.kms_key_name == null])
    error_message = "Keys of one's own are optional."
  }
  assert {
    condition     = length(google_monitoring_notification_channel.email) == 0 && length(google_monitoring_alert_policy.log) == 10
    error_message = "Alerts are there without anybody to write to."
  }
  assert {
    condition     = length(google_compute_network.batches) == 1 && google_compute_subnetwork.batches[0].private_ip_google_access
    error_message = "Batches get a subnetwork with private Google access."
  }
  assert {
    condition     = google_compute_firewall.batches[0].source_ranges == toset([google_compute_subnetwork.batches[0].ip_cidr_range])
    error_message = "The subnetwork allows ingress from itself and from nowhere else."
  }
  assert {
    condition     = alltrue([for service in google_project_service.api : service.disable_on_destroy == false])
    error_message = "What others may use by then is not disabled."
  }
  assert {
    condition     = strcontains(google_logging_project_sink.tables.filter, "/datasets/()$")
    error_message = "Without datasets the sink tells of no table."
  }
}

run "every_trigger_is_whole" {
  command = plan

  expect_failures = [check.datasets]

  assert {
    condition     = toset(keys(google_pubsub_subscription.push)) == toset(keys(google_cloudfunctions2_function.function))
    error_message = "Each function has a push subscription of its own."
  }
  assert {
    condition = alltrue([for name, subscription in google_pubsub_subscription.push :
      subscription.ack_deadline_seconds > google_cloudfunctions2_function.function[name].service_config[0].timeout_seconds
      && subscription.ack_deadline_seconds <= 600
    ])
    error_message = "A message must not come again while a function may still have it; Pub/Sub takes 600 s at most."
  }
  assert {
    condition = alltrue([for subscription in google_pubsub_subscription.push :
      subscription.message_retention_duration == "604800s"
      && subscription.expiration_policy[0].ttl == ""
      && subscription.retry_policy[0].minimum_backoff == "10s"
      && subscription.retry_policy[0].maximum_backoff == "600s"
      && subscription.dead_letter_policy[0].max_delivery_attempts == 100
    ])
    error_message = "Seven days of retention, growing pauses, dead letters; and it never expires."
  }
  assert {
    condition     = length(distinct([for s in google_pubsub_subscription.push : s.push_config[0].oidc_token[0].service_account_email])) == 3
    error_message = "Each push is signed by an account of its own."
  }
  assert {
    condition     = alltrue([for f in google_cloudfunctions2_function.function : length(f.event_trigger) == 0 && f.service_config[0].ingress_settings == "ALLOW_INTERNAL_ONLY"])
    error_message = "No Eventarc trigger, and no call from outside."
  }
  assert {
    condition     = google_pubsub_subscription.dead_letter.message_retention_duration == "604800s"
    error_message = "Dead letters are kept for seven days."
  }
}
