# Each validation rejects what it should. A run takes a second, so that one tries many variables at once, and each of them has
# to be refused. The project, the region and the datasets, by which other variables are validated, are wrong in runs
# without those: so nothing is refused on another one's account.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop"]
}

run "where_everything_is" {
  command = plan
  variables {
    # A number is no project id.
    project = "123456"
    # A location of BigQuery is no region.
    region = "EU"
    # A location is written as BigQuery does.
    location = "Europe"
    # A dataset is named without its project.
    datasets = ["my-project.shop"]
    # A dataset of views cannot depend on the table.
    view_dataset = "{table}_views"
  }
  expect_failures = [
    var.project,
    var.region,
    var.location,
    var.datasets,
    var.view_dataset,
  ]
}

run "where_everything_is_again" {
  command = plan
  variables {
    # A title is no project id.
    project = "My Project"
    # A continent is no region.
    region = "europe"
    # A dataset is named once.
    datasets = ["shop", "shop"]
  }
  expect_failures = [
    var.project,
    var.region,
    var.datasets,
  ]
}

run "names_of_versions_that_are_no_expression" {
  command = plan
  variables { version_patterns = { shop = "(?P<base>.+)_(?P<version>[0-9]+" } }
  expect_failures = [var.version_patterns]
}

run "names_of_versions_without_a_version" {
  command = plan
  variables { version_patterns = { shop = "(?P<base>.+)_[0-9]+" } }
  expect_failures = [var.version_patterns]
}

run "names_of_versions_in_another_dataset" {
  command = plan
  variables { version_patterns = { crm = "(?P<base>.+)_(?P<version>[0-9]+)" } }
  expect_failures = [var.version_patterns]
}

run "the_first_of_each" {
  command = plan
  variables {
    # A view name holds the table.
    view_name = "unified"
    # A prefix is short.
    prefix = "europe-"
    # A label is in lower case.
    labels = { Team = "data" }
    # An account is for something known.
    service_accounts = { refresh = "a@my-project.iam.gserviceaccount.com" }
    # A key is in the region.
    kms_key = "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k"
    # A connector is named in full.
    vpc_connector = "my-connector"
    # A subnetwork is named in full.
    subnetwork = "default"
    # A range has room for executors.
    subnetwork_range = "10.0.0.0/28"
    # A runtime has Spark 4.
    batch_runtime_version = "2.2"
    # A time to live is short for a time.
    batch_ttl = "4 hours"
    # A property is one of Spark.
    batch_properties = { "executor.cores" = "8" }
    # A folder is in Cloud Storage.
    batch_folders = ["s3://bucket/folder"]
    # Staging takes a day at least.
    staging_days = 0
    # Large records stay as long as messages refer to them.
    large_records_days = 14
    # A time zone is a name.
    time_zone = "CET+1 "
    # A refresh schedule is cron.
    refresh_schedule = "every day"
    # A merge schedule is cron.
    merge_schedule = "hourly"
    # Tables at a time, and hours, are whole numbers.
    merge_parallel   = 65
    merge_late_hours = 0
    # A batch schedule is cron.
    reconcile_schedules = [{ dataset = "shop", table = "customer", schedule = "daily" }]
    # An email is an address.
    alert_email = "nobody"
    # A wait is not negative.
    build_wait_seconds  = -1
    capture_lag_seconds = 59
    sink_instances      = 0
    # An image is named by its digest.
    capture_image = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture:latest"
    # Keys are in a secret of the project.
    schema_registry = { keys = "projects/p/secrets/s" }
    # An ingress is one of three.
    schema_registry_ingress = "ALL"
    # Views of the tables of events are kept in datasets that are named.
    events = { dataset = "other", runs = "gs://acme-events/shredded" }
  }
  expect_failures = [
    var.view_name,
    var.prefix,
    var.labels,
    var.service_accounts,
    var.kms_key,
    var.vpc_connector,
    var.subnetwork,
    var.subnetwork_range,
    var.batch_runtime_version,
    var.batch_ttl,
    var.batch_properties,
    var.batch_folders,
    var.staging_days,
    var.large_records_days,
    var.time_zone,
    var.refresh_schedule,
    var.merge_schedule,
    var.merge_parallel,
    var.merge_late_hours,
    var.reconcile_schedules,
    var.alert_email,
    var.build_wait_seconds,
    var.capture_lag_seconds,
    var.sink_instances,
    var.capture_image,
    var.schema_registry,
    var.schema_registry_ingress,
    var.events,
  ]
}

run "the_second_of_each" {
  command = plan
  variables {
    # A view is not called as its table alone.
    view_name = "{table}"
    # A prefix ends with a hyphen.
    prefix = "eu"
    # A label is not one of ours.
    labels = { onefold_job = "x" }
    # An account is a service account.
    service_accounts = { refresh_view = "somebody@example.com" }
    # A subnetwork is in the region.
    subnetwork = "projects/p/regions/us-east1/subnetworks/s"
    # A range is a range.
    subnetwork_range = "everything"
    # A folder is one folder.
    batch_folders = ["gs://bucket/*"]
    # Staging takes whole days.
    staging_days = 1.5
    # A vendor is a prefix of whole parts.
    schema_registry = { public = ["com.acme*"] }
    # Runs are in a folder of a bucket.
    events = { dataset = "shop", runs = "s3://acme-events/shredded" }
    # A batch is for a named dataset.
    reconcile_schedules = [{ dataset = "other", table = "customer", schedule = "0 4 * * *" }]
  }
  expect_failures = [
    var.view_name,
    var.prefix,
    var.labels,
    var.service_accounts,
    var.subnetwork,
    var.subnetwork_range,
    var.batch_folders,
    var.staging_days,
    var.reconcile_schedules,
    var.schema_registry,
    var.events,
  ]
}

run "the_third_of_each" {
  command = plan
  variables {
    # A view name has no dot.
    view_name = "{table}.{dataset}"
    # An account is one of the project.
    service_accounts = { refresh_view = "a@other.iam.gserviceaccount.com" }
    # An order is one of two.
    schema_registry = { order = "random" }
    # A batch is for a known job.
    reconcile_schedules = [{ dataset = "shop", table = "customer", schedule = "0 4 * * *", job = "drop" }]
  }
  expect_failures = [
    var.view_name,
    var.service_accounts,
    var.reconcile_schedules,
    var.schema_registry,
  ]
}

run "the_fourth_of_each" {
  command = plan
  variables {
    # An account is for one thing.
    service_accounts = { refresh_view = "a@my-project.iam.gserviceaccount.com", batch = "a@my-project.iam.gserviceaccount.com" }
    # A batch is for a base name.
    reconcile_schedules = [{ dataset = "shop", table = "a.b", schedule = "0 4 * * *" }]
    # A dataset of views has no hyphen.
    view_dataset = "views-of-shop"
    # A branch is one branch.
    access_trigger = { repository = "projects/p/locations/europe-west1/connections/c/repositories/r", state_bucket = "bucket", branch = ".*" }
  }
  expect_failures = [
    var.access_trigger,
    var.service_accounts,
    var.reconcile_schedules,
    var.view_dataset,
  ]
}

run "the_fifth_of_each" {
  command = plan
  variables {
    # A batch is scheduled once.
    reconcile_schedules = [{ dataset = "shop", table = "a", schedule = "0 4 * * *" }, { dataset = "shop", table = "a", schedule = "0 5 * * *" }]
    # People write through a group.
    writers = { shop = ["ada@example.com"] }
    # A bucket is named without gs://.
    access_trigger = { repository = "projects/p/locations/europe-west1/connections/c/repositories/r", state_bucket = "gs://bucket" }
  }
  expect_failures = [
    var.writers,
    var.access_trigger,
    var.reconcile_schedules,
  ]
}

run "a_direct_writer_writes_into_one_dataset" {
  command = plan
  variables {
    datasets = ["shop", "crm"]
    writers  = { shop = ["a@my-project.iam.gserviceaccount.com"], crm = ["a@my-project.iam.gserviceaccount.com"] }
    # The trigger is in the region of its repository.
    access_trigger = { repository = "projects/p/locations/us-east1/connections/c/repositories/r", state_bucket = "bucket" }
  }
  expect_failures = [var.writers, var.access_trigger]
}

run "nobody_writes_into_a_dataset_of_another_deployment" {
  command = plan
  variables {
    writers = { other = ["a@my-project.iam.gserviceaccount.com"] }
  }
  expect_failures = [var.writers]
}

run "nobody_writes_among_views" {
  command = plan
  variables {
    datasets     = ["shop", "shop_views"]
    view_dataset = "shop_views"
    view_name    = "{dataset}_{table}_all"
    writers      = { shop_views = ["a@my-project.iam.gserviceaccount.com"] }
  }
  expect_failures = [var.writers]
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

run "pulls_at_impossible_times" {
  command = plan
  variables {
    pull_schedule       = "every 15 minutes"
    daily_pull_schedule = "0 25 * * *"
    check_schedule      = "every two hours"
    pages_schedule      = "each day"
    notify_schedule     = "often"
    pages_readers       = ["allUsers"]
    pulled_files_days   = 1
    late_pull_minutes   = 5
  }
  expect_failures = [
    var.pull_schedule,
    var.daily_pull_schedule,
    var.check_schedule,
    var.notify_schedule,
    var.pages_schedule,
    var.pages_readers,
    var.pulled_files_days,
    var.late_pull_minutes,
  ]
}

# Each of these is refused for one reason alone: the settings have the source and the database.
run "pulls_of_a_database_without_a_dataset" {
  command = plan
  variables {
    pulls = { fraud = { databases = ["models"], secret = "s" } }

    settings_folder = "./tests/settings"
  }
  expect_failures = [output.pulls]
}

run "pulls_with_a_secret_that_is_no_id" {
  command = plan
  variables {
    datasets = ["fraud_models"]
    pulls    = { fraud = { databases = ["models"], secret = "no secret" } }

    settings_folder = "./tests/settings"
  }
  expect_failures = [output.pulls]
}

run "pulls_of_a_source_with_a_name_in_capitals" {
  command = plan
  variables {
    datasets = ["Fraud_models"]
    pulls    = { Fraud = { databases = ["models"], secret = "s" } }

    settings_folder = "./tests/settings/refused"
  }
  expect_failures = [output.pulls]
}

run "pulls_of_two_databases_into_one_dataset" {
  command = plan
  variables {
    datasets = ["fraud_a_b"]
    pulls = {
      fraud   = { databases = ["a_b"], secret = "s" }
      fraud-a = { databases = ["b"], secret = "s" }
    }

    settings_folder = "./tests/settings/refused"
  }
  expect_failures = [output.pulls]
}

run "pulls_of_too_many_tables_at_once" {
  command = plan
  variables {
    datasets = ["fraud_models"]
    pulls    = { fraud = { databases = ["models"], secret = "s", parallel = 65 } }

    settings_folder = "./tests/settings"
  }
  expect_failures = [output.pulls]
}

run "settings_that_were_not_checked" {
  command = plan
  variables {
    settings_folder = "./tests/settings/unchecked"
  }
  expect_failures = [var.settings_folder]
}

run "pulls_of_a_source_that_the_settings_do_not_have" {
  command = plan
  variables {
    datasets = ["crm_models"]
    pulls    = { crm = { databases = ["models"], secret = "s" } }

    settings_folder = "./tests/settings"
  }
  expect_failures = [output.pulls]
}

run "pulls_of_a_database_that_the_source_does_not_have" {
  command = plan
  variables {
    datasets = ["fraud_other"]
    pulls    = { fraud = { databases = ["other"], secret = "s" } }

    settings_folder = "./tests/settings"
  }
  expect_failures = [output.pulls]
}

run "pulls_without_a_file_of_settings" {
  command = plan
  variables {
    datasets = ["fraud_models"]
    pulls    = { fraud = { databases = ["models"], secret = "s" } }

    settings_folder = "./tests/mocks"
  }
  expect_failures = [output.pulls]
}

run "clean_views_of_an_unknown_dataset" {
  command = plan

  variables {
    datasets    = ["shop"]
    clean_views = ["other"]
  }

  expect_failures = [var.clean_views]
}

run "a_shred_with_a_name_in_capitals" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { Web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_a_window_of_part_of_a_day" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas", duplicates_window = 0.5 } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_without_events" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = [], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_whose_pattern_is_in_the_name_of_the_bucket" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake*/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_that_leaves_its_folder" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/../other"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_into_a_whole_bucket" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_into_too_deep_a_folder" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/1/2/3/4/5/6/7/8/9/10/11", format = "csv", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_into_another_format" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "avro", input = "enriched-tsv", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_of_another_input" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "thrift", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_wide_columns_in_csv" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", layout = "wide", registry = "gs://schemas" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_without_a_registry" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = null } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_at_an_impossible_time" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas", schedule = "61 * * * *" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_a_key_in_the_address_of_its_registry" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "https://registry.example.com/api?apikey=secret" } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_a_registry_and_registries" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registry = "gs://schemas", registries = ["gs://central"] } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_whose_second_registry_is_no_folder_of_a_bucket" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registries = ["gs://schemas", "https://iglucentral.com"] } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_that_names_a_registry_twice" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registries = ["gs://schemas", "gs://schemas"] } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_that_names_a_registry_with_and_without_a_slash" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registries = ["gs://schemas", "gs://schemas/"] } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_a_resolvers_file_beside_a_folder" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registries = ["gs://schemas", "gs://pipeline/resolver.json"] } }
  }

  expect_failures = [output.shreds]
}

run "a_shred_with_two_resolvers_files" {
  command = plan

  variables {
    datasets = ["shop"]
    shreds   = { web = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "enriched-tsv", registries = ["gs://pipeline/a.json", "gs://pipeline/b.json"] } }
  }

  expect_failures = [output.shreds]
}

run "a_registry_of_another_warehouse_and_too_deep_a_folder_of_batches" {
  command = plan

  variables {
    batch_folders   = ["gs://exports/1/2/3/4/5/6/7/8/9/10/11"]
    schema_registry = { keys = "keys", warehouses = ["snowflake"] }
  }

  expect_failures = [var.batch_folders, var.schema_registry]
}

run "a_network_of_streams_without_its_project_and_with_too_many_addresses" {
  command = plan

  variables {
    stream_network = { network = "vpc", range = "10.10.0.0/24" }
  }

  expect_failures = [var.stream_network]
}

run "plain_change_tables_whose_bases_would_lie_among_them" {
  command = plan

  variables {
    plain_table_datasets = ["legacy"]
    plain_dataset        = "{dataset}"
  }

  expect_failures = [var.plain_dataset]
}

run "plain_change_tables_in_a_dataset_that_onefold_writes" {
  command = plan

  variables {
    plain_table_datasets = ["shop"]
  }

  expect_failures = [var.plain_table_datasets]
}

run "plain_change_tables_in_a_dataset_with_its_project" {
  command = plan

  variables {
    plain_table_datasets = ["my-project.legacy"]
  }

  expect_failures = [var.plain_table_datasets]
}

run "plain_change_tables_whose_views_would_lie_elsewhere" {
  command = plan

  variables {
    plain_table_datasets = ["legacy"]
    view_dataset         = "{dataset}_views"
  }

  expect_failures = [var.plain_dataset]
}

run "readers_of_columns_without_a_ledger_and_an_image" {
  command = plan

  variables {
    column_readers = {}
  }

  expect_failures = [var.column_readers]
}

run "a_ledger_in_no_dataset" {
  command = plan

  variables {
    changes_dataset = "my-ledger"
  }

  expect_failures = [var.changes_dataset]
}

run "a_ledger_beside_tables" {
  command = plan

  variables {
    changes_dataset = var.datasets[0]
  }

  expect_failures = [var.changes_dataset]
}
