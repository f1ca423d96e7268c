# Two sources whose tables are pulled; the list of rights is in tests/infra/test_pulls.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop", "fraud_models", "fraud_card_data", "ads_clicks"]

  settings_folder = "./tests/settings"
  pulls = {
    fraud = { databases = ["models", "card-data"], secret = "fraud-password" }
    ads   = { databases = ["clicks"], secret = "ads-password", parallel = 16, gzip = true }
  }
}

run "two_sources" {
  command = plan
}

run "two_sources_that_are_checked" {
  command = plan
  variables {
    check_schedule = "0 */2 * * *"
  }
}

run "a_batch_for_each_database" {
  command = plan
  variables {
    pulls = { fraud = { databases = ["models", "card-data"], secret = "fraud-password", databases_per_batch = 1, stream_below = 1000000 } }
  }
}
