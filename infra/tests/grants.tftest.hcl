# What everybody may do; the list is in tests/infra/test_plan.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop", "crm"]
}

run "two_datasets" {
  command = plan
}

run "versions_by_labels" {
  command = plan
  variables { version_patterns = { crm = "labels" } }
}
