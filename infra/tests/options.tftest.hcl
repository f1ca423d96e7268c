# With every optional input.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project             = "my-project"
  region              = "europe-west1"
  datasets            = ["shop", "crm"]
  changes_dataset     = "onefold_changes"
  version_patterns    = { crm = "^(?P<base>[a-z\\d_]+)_(?P<version>[0-9]+|1r[0-9a-f]+)$" }
  plain_dataset       = "{dataset}_bases"
  view_dataset        = "{dataset}_unified"
  view_name           = "{table}_all"
  restore_policy_tags = true
  prefix              = "eu-"
  labels              = { team = "data" }
  kms_key             = "projects/keys/locations/europe-west1/keyRings/ring/cryptoKeys/key"
  vpc_connector       = "projects/my-project/locations/europe-west1/connectors/connector"
  subnetwork          = "projects/host/regions/europe-west1/subnetworks/given"
  batch_ttl           = "2h"
  batch_properties    = { "spark.executor.cores" = "8", "spark.jars" = "gs://a/b.jar,gs://a/c.jar" }
  batch_folders       = ["gs://exports/shop", "gs://exports/crm/", "gs://archive/base"]
  staging_days        = 3
  large_records_days  = 20
  time_zone           = "Europe/Berlin"
  alert_email         = "data@example.com"
  capture_image       = "registry.example.com:5000/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  captures = {
    shop-db = { host = "fd00::3", user = "u", secret = "s", dataset = "shop", subnetwork = "projects/host/regions/europe-west1/subnetworks/given", egress = "ALL_TRAFFIC" }
  }
  writers = {
    shop = ["events@my-project.iam.gserviceaccount.com"]
    crm  = ["mails@other-project.iam.gserviceaccount.com"]
  }
  access_trigger = {
    repository   = "projects/my-project/locations/europe-west1/connections/git/repositories/data"
    state_bucket = "my-project-onefold-terraform"
    branch       = "release"
    file         = "permissions/access.yaml"
  }
  merge_schedule          = "30 * * * *"
  pages_schedule          = "0 6 * * *"
  merge_parallel          = 16
  merge_late_hours        = 24
  events                  = { dataset = "crm", runs = "gs://exports/shredded/" }
  schema_registry         = { keys = "registry-keys", public = ["org.open"], order = "sequential", patches = true, warehouses = ["redshift"], callers = ["allUsers", "group:data@example.com"] }
  schema_registry_ingress = "ALLOW_ALL"
  reconcile_schedules = [
    { dataset = "shop", table = "customer", schedule = "30 4 * * *", arguments = { keys = ["id"] } },
    { dataset = "shop", table = "größe", schedule = "40 4 * * *", arguments = { keys = ["a", "b"], mode = ["rebuild"] } },
  ]
}

run "all_options" {
  command = plan

  assert {
    condition     = google_bigquery_dataset_access.views["shop"].dataset[0].dataset[0].dataset_id == "shop_unified" && toset(keys(google_bigquery_dataset_access.views)) == toset(["shop", "crm"])
    error_message = "Each dataset of views is authorized on its source."
  }
  assert {
    condition = alltrue([for name, member in google_bigquery_dataset_iam_member.refresh_view :
      member.role == (endswith(name, "_unified") ? google_project_iam_custom_role.views.name : google_project_iam_custom_role.source.name)
    ]) && length(google_bigquery_dataset_iam_member.refresh_view) == 4
    error_message = "refresh_view writes where views live, and only reads elsewhere."
  }
  assert {
    condition     = alltrue([for permission in ["create", "update", "delete", "updateData"] : !contains(google_project_iam_custom_role.source.permissions, "bigquery.tables.${permission}")])
    error_message = "Where no view lives, nothing is written."
  }
  assert {
    condition     = contains(google_project_iam_custom_role.views.permissions, "bigquery.tables.setCategory")
    error_message = "Policy tags can be restored where that is asked for."
  }
  assert {
    condition     = toset(keys(google_bigquery_dataset_iam_member.batch)) == toset(["shop", "crm"])
    error_message = "Batches read and merge where tables are."
  }
  assert {
    condition = toset(keys(google_bigquery_dataset_iam_member.batch_views)) == toset(["shop_unified", "crm_unified"]) && alltrue([
      for member in google_bigquery_dataset_iam_member.batch_views : member.role == google_project_iam_custom_role.views.name
    ])
    error_message = "Batches keep the views up to date, and may write them where they live."
  }
  assert {
    condition     = toset(keys(google_bigquery_dataset_iam_member.sink_records)) == toset(["shop", "crm"]) && google_bigquery_dataset_iam_member.capture["shop-db"].dataset_id == "shop"
    error_message = "Rows land where tables are, and not where views live."
  }
  assert {
    condition     = alltrue([for permission in ["create", "update", "delete", "getData"] : !contains(google_project_iam_custom_role.sink.permissions, "bigquery.tables.${permission}")])
    error_message = "The sink appends, and nothing else."
  }
  assert {
    condition     = length(google_compute_network.batches) + length(google_compute_subnetwork.batches) + length(google_compute_firewall.batches) == 0
    error_message = "With a subnetwork that is given, none is made."
  }
  assert {
    condition     = length(google_kms_crypto_key_iam_member.agent) == 7 && alltrue([for topic in google_pubsub_topic.topic : topic.kms_key_name == var.kms_key])
    error_message = "The key is for all topics, and their agent may use it."
  }
  assert {
    condition = alltrue([
      google_artifact_registry_repository.images.kms_key_name == var.kms_key,
      google_artifact_registry_repository.capture.kms_key_name == var.kms_key,
      google_cloud_run_v2_worker_pool.capture["shop-db"].template[0].encryption_key == var.kms_key,
    ]) && alltrue([for function in google_cloudfunctions2_function.function : function.kms_key_name == var.kms_key])
    error_message = "The key is for images and functions, too."
  }
  assert {
    condition     = alltrue([for function in google_cloudfunctions2_function.function : function.service_config[0].vpc_connector == var.vpc_connector])
    error_message = "Functions go through the connector."
  }
  assert {
    condition     = alltrue([for policy in google_monitoring_alert_policy.log : length(policy.notification_channels) == 1])
    error_message = "Every alert writes to the address."
  }
  assert {
    condition     = google_cloud_run_v2_worker_pool.capture["shop-db"].template[0].vpc_access[0].egress == "ALL_TRAFFIC" && google_monitoring_alert_policy.silent_capture["shop-db"].notification_channels != null
    error_message = "A source is reached through the subnetwork, and its silence is told."
  }
  assert {
    condition     = strcontains(google_monitoring_alert_policy.silent_capture["shop-db"].conditions[0].condition_prometheus_query_language[0].query, "user_eu_onefold_captured{monitored_resource=\"cloud_run_worker_pool\",worker_pool_name=\"eu-capture-shop-db\"}")
    error_message = "Each deployment counts the lines of its own sources, under the name that queries have for its metric."
  }
  assert {
    condition     = google_service_account.capture["shop-db"].account_id == "eu-capture-shop-db" && google_cloud_run_v2_worker_pool.capture["shop-db"].name == "eu-capture-shop-db"
    error_message = "The prefix keeps the sources of two deployments apart."
  }
  assert {
    condition     = contains(keys(google_project_service.api), "secretmanager.googleapis.com")
    error_message = "Passwords are in Secret Manager."
  }
  assert {
    condition     = alltrue([for topic in google_pubsub_topic.topic : startswith(topic.name, "eu-")])
    error_message = "The prefix keeps two deployments apart."
  }
}

run "registry_without_keys" {
  command = plan
  variables {
    captures                = {}
    schema_registry         = {}
    schema_registry_ingress = "ALLOW_INTERNAL_AND_GCLB"
  }

  assert {
    condition     = length(google_cloudfunctions2_function.function["schema_registry"].service_config[0].secret_volumes) == 0 && length(google_secret_manager_secret_iam_member.registry) == 0 && length(google_cloud_run_service_iam_member.registry) == 0
    error_message = "Without keys there is no secret, and nobody may call who is not named."
  }
  assert {
    condition     = google_cloudfunctions2_function.function["schema_registry"].service_config[0].ingress_settings == "ALLOW_INTERNAL_AND_GCLB" && google_cloudfunctions2_function.function["schema_registry"].name == "eu-schema-registry"
    error_message = "The ingress is a variable of its own, and the prefix keeps two deployments apart."
  }
  assert {
    condition     = !contains(keys(google_project_service.api), "secretmanager.googleapis.com")
    error_message = "Without a secret, Secret Manager is not needed."
  }
}

run "views_beside_their_tables" {
  command = plan
  variables {
    view_dataset        = "{dataset}"
    view_name           = "{table}_unified"
    restore_policy_tags = false
  }

  assert {
    condition     = length(google_bigquery_dataset_access.views) == 0
    error_message = "A dataset need not be authorized on itself."
  }
  assert {
    condition     = alltrue([for member in google_bigquery_dataset_iam_member.refresh_view : member.role == google_project_iam_custom_role.views.name]) && length(google_bigquery_dataset_iam_member.refresh_view) == 2
    error_message = "One role a dataset."
  }
  assert {
    condition     = length(google_bigquery_dataset_iam_member.batch_views) == 0
    error_message = "Where tables are, the role that merges includes what views need."
  }
  assert {
    condition     = !contains(google_project_iam_custom_role.views.permissions, "bigquery.tables.setCategory")
    error_message = "A right that is not asked for is not given."
  }
}

run "accounts_that_exist" {
  command = plan
  variables {
    service_accounts = {
      for purpose in ["refresh_view", "launch_batch", "sink_records", "push_refresh_view", "push_launch_batch", "push_sink_records", "load_shredded", "push_load_shredded", "write_pages", "push_write_pages", "batch", "build", "schema_registry"] :
      purpose => "given-${replace(purpose, "_", "-")}@my-project.iam.gserviceaccount.com"
    }
  }

  assert {
    condition     = length(google_service_account.account) == 0
    error_message = "With all accounts given, none is made."
  }
  assert {
    condition     = google_cloudfunctions2_function.function["refresh_view"].service_config[0].service_account_email == "given-refresh-view@my-project.iam.gserviceaccount.com"
    error_message = "The function runs as the account that was given."
  }
  assert {
    condition     = google_pubsub_subscription.push["launch_batch"].push_config[0].oidc_token[0].service_account_email == "given-push-launch-batch@my-project.iam.gserviceaccount.com"
    error_message = "The push is signed by the account that was given."
  }
}

run "no_net" {
  command = plan
  variables {
    refresh_schedule = null
  }
}

run "a_location_in_other_letters" {
  command = plan
  variables {
    location = "EUROPE-WEST1"
  }

  assert {
    condition     = length(data.google_bigquery_dataset.named) == 4
    error_message = "BigQuery does not mind the case of a location, and neither do we."
  }
}
