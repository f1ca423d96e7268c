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

# The datasets that the audit log's entries are about: the names fit into the filter, or do not.
run "filter_of_a_thousand_datasets" {
  command = plan
  module { source = "./modules/audit_filter" }
  variables {
    version_patterns   = { for number in range(1000) : format("tenant_%05d", number) => "(?P<base>.+)_v_(?P<version>[0-9a-f]{1,64})" }
    any_table_datasets = ["plain"]
  }
}

run "filter_of_ten_thousand_datasets" {
  command = plan
  module { source = "./modules/audit_filter" }
  variables {
    version_patterns   = { for digits in setproduct(range(100), range(100)) : format("tenant_%03d%02d", digits...) => "(?P<base>.+)_v_(?P<version>[0-9a-f]{1,64})" }
    any_table_datasets = ["plain"]
  }
}
