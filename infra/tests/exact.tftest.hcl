# What roles, conditions, filters and thresholds say; the lists are in tests/infra_expected.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project       = "my-project"
  region        = "europe-west1"
  datasets      = ["shop", "crm"]
  batch_folders = ["gs://exports/shop/daily/", "gs://archive"]
}

run "exact" {
  command = plan
}
