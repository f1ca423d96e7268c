# Each validation rejects what it should.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop"]
}

run "a_number_is_no_project_id" {
  command = plan
  variables {
    project = "123456"
  }
  expect_failures = [var.project]
}

run "a_title_is_no_project_id" {
  command = plan
  variables {
    project = "My Project"
  }
  expect_failures = [var.project]
}

run "a_location_of_bigquery_is_no_region" {
  command = plan
  variables {
    region = "EU"
  }
  expect_failures = [var.region]
}

run "a_continent_is_no_region" {
  command = plan
  variables {
    region = "europe"
  }
  expect_failures = [var.region]
}

run "a_location_is_written_as_bigquery_does" {
  command = plan
  variables {
    location = "Europe"
  }
  expect_failures = [var.location]
}

run "a_dataset_is_named_without_its_project" {
  command = plan
  variables {
    datasets = ["my-project.shop"]
  }
  expect_failures = [var.datasets]
}

run "a_dataset_is_named_once" {
  command = plan
  variables {
    datasets = ["shop", "shop"]
  }
  expect_failures = [var.datasets]
}

run "a_dataset_of_views_cannot_depend_on_the_table" {
  command = plan
  variables {
    view_dataset = "{table}_views"
  }
  expect_failures = [var.view_dataset]
}

run "a_dataset_of_views_has_no_hyphen" {
  command = plan
  variables {
    view_dataset = "views-of-shop"
  }
  expect_failures = [var.view_dataset]
}

run "a_view_name_holds_the_table" {
  command = plan
  variables {
    view_name = "unified"
  }
  expect_failures = [var.view_name]
}

run "a_view_is_not_called_as_its_table_alone" {
  command = plan
  variables {
    view_name = "{table}"
  }
  expect_failures = [var.view_name]
}

run "a_view_name_has_no_dot" {
  command = plan
  variables {
    view_name = "{table}.{dataset}"
  }
  expect_failures = [var.view_name]
}

run "a_prefix_is_short" {
  command = plan
  variables {
    prefix = "europe-"
  }
  expect_failures = [var.prefix]
}

run "a_prefix_ends_with_a_hyphen" {
  command = plan
  variables {
    prefix = "eu"
  }
  expect_failures = [var.prefix]
}

run "a_label_is_in_lower_case" {
  command = plan
  variables {
    labels = { Team = "data" }
  }
  expect_failures = [var.labels]
}

run "an_account_is_for_something_known" {
  command = plan
  variables {
    service_accounts = { refresh = "a@my-project.iam.gserviceaccount.com" }
  }
  expect_failures = [var.service_accounts]
}

run "an_account_is_a_service_account" {
  command = plan
  variables {
    service_accounts = { refresh_view = "somebody@example.com" }
  }
  expect_failures = [var.service_accounts]
}

run "an_account_is_one_of_the_project" {
  command = plan
  variables {
    service_accounts = { refresh_view = "a@other.iam.gserviceaccount.com" }
  }
  expect_failures = [var.service_accounts]
}

run "an_account_is_for_one_thing" {
  command = plan
  variables {
    service_accounts = { refresh_view = "a@my-project.iam.gserviceaccount.com", batch = "a@my-project.iam.gserviceaccount.com" }
  }
  expect_failures = [var.service_accounts]
}

run "a_key_is_in_the_region" {
  command = plan
  variables {
    kms_key = "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k"
  }
  expect_failures = [var.kms_key]
}

run "a_connector_is_named_in_full" {
  command = plan
  variables {
    vpc_connector = "my-connector"
  }
  expect_failures = [var.vpc_connector]
}

run "a_subnetwork_is_named_in_full" {
  command = plan
  variables {
    subnetwork = "default"
  }
  expect_failures = [var.subnetwork]
}

run "a_subnetwork_is_in_the_region" {
  command = plan
  variables {
    subnetwork = "projects/p/regions/us-east1/subnetworks/s"
  }
  expect_failures = [var.subnetwork]
}

run "a_range_has_room_for_executors" {
  command = plan
  variables {
    subnetwork_range = "10.0.0.0/28"
  }
  expect_failures = [var.subnetwork_range]
}

run "a_range_is_a_range" {
  command = plan
  variables {
    subnetwork_range = "everything"
  }
  expect_failures = [var.subnetwork_range]
}

run "a_runtime_has_spark_4" {
  command = plan
  variables {
    batch_runtime_version = "2.2"
  }
  expect_failures = [var.batch_runtime_version]
}

run "a_time_to_live_is_short_for_a_time" {
  command = plan
  variables {
    batch_ttl = "4 hours"
  }
  expect_failures = [var.batch_ttl]
}

run "a_property_is_one_of_spark" {
  command = plan
  variables {
    batch_properties = { "executor.cores" = "8" }
  }
  expect_failures = [var.batch_properties]
}

run "a_folder_is_in_cloud_storage" {
  command = plan
  variables {
    batch_folders = ["s3://bucket/folder"]
  }
  expect_failures = [var.batch_folders]
}

run "a_folder_is_one_folder" {
  command = plan
  variables {
    batch_folders = ["gs://bucket/*"]
  }
  expect_failures = [var.batch_folders]
}

run "staging_takes_a_day_at_least" {
  command = plan
  variables {
    staging_days = 0
  }
  expect_failures = [var.staging_days]
}

run "staging_takes_whole_days" {
  command = plan
  variables {
    staging_days = 1.5
  }
  expect_failures = [var.staging_days]
}

run "a_time_zone_is_a_name" {
  command = plan
  variables {
    time_zone = "CET+1 "
  }
  expect_failures = [var.time_zone]
}

run "a_refresh_schedule_is_cron" {
  command = plan
  variables {
    refresh_schedule = "every day"
  }
  expect_failures = [var.refresh_schedule]
}

run "a_batch_schedule_is_cron" {
  command = plan
  variables {
    reconcile_schedules = [{ dataset = "shop", table = "customer", schedule = "daily" }]
  }
  expect_failures = [var.reconcile_schedules]
}

run "a_batch_is_for_a_named_dataset" {
  command = plan
  variables {
    reconcile_schedules = [{ dataset = "other", table = "customer", schedule = "0 4 * * *" }]
  }
  expect_failures = [var.reconcile_schedules]
}

run "a_batch_is_for_a_known_job" {
  command = plan
  variables {
    reconcile_schedules = [{ dataset = "shop", table = "customer", schedule = "0 4 * * *", job = "drop" }]
  }
  expect_failures = [var.reconcile_schedules]
}

run "a_batch_is_for_a_base_name" {
  command = plan
  variables {
    reconcile_schedules = [{ dataset = "shop", table = "a.b", schedule = "0 4 * * *" }]
  }
  expect_failures = [var.reconcile_schedules]
}

run "a_batch_is_scheduled_once" {
  command = plan
  variables {
    reconcile_schedules = [{ dataset = "shop", table = "a", schedule = "0 4 * * *" }, { dataset = "shop", table = "a", schedule = "0 5 * * *" }]
  }
  expect_failures = [var.reconcile_schedules]
}

run "an_email_is_an_address" {
  command = plan
  variables {
    alert_email = "nobody"
  }
  expect_failures = [var.alert_email]
}

run "views_of_two_datasets_are_not_mixed" {
  command = plan
  variables {
    datasets     = ["shop", "crm"]
    view_dataset = "views"
  }
  expect_failures = [var.view_name]
}

run "a_dataset_elsewhere_is_refused_by_name" {
  command = plan
  variables {
    datasets = ["shop", "crm"]
    location = "EU"
  }
  override_data {
    target = data.google_bigquery_dataset.named["shop"]
    values = { dataset_id = "shop", location = "EU" }
  }
  override_data {
    target = data.google_bigquery_dataset.named["crm"]
    values = { dataset_id = "crm", location = "US" }
  }
  expect_failures = [data.google_bigquery_dataset.named["crm"]]
}
