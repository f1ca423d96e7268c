# Every name as long as the variables allow, where it ends up in a name of Google's: tests/infra/test_everything.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project         = "a-project-with-thirty-letters1"
  region          = "europe-west1"
  prefix          = "abcd-"
  datasets        = ["shop", "a_source_of_twenty_c_a_database_whose_name_is_as_long_as_that_of_mysql_can_be_64_char", "d_${join("", [for number in range(100) : "0123456789"])}"]
  capture_image   = "europe-west1-docker.pkg.dev/p/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  schema_registry = { keys = "registry-keys" }
  events          = { dataset = "shop", runs = "gs://acme-events" }
  merge_schedule  = "30 * * * *"
  check_schedule  = "0 */2 * * *"
  access_trigger  = { repository = "projects/p/locations/europe-west1/connections/git/repositories/data", state_bucket = "state" }
  changes_dataset = "onefold_changes"
  column_readers  = {}
  captures = {
    a-source-of-17-ch = { host = "h", user = "u", secret = "s", dataset = "shop", checks = { databases = ["d"], fix = true } }
  }

  notify_schedule = "*/10 * * * *"

  settings_folder = "./tests/settings/longest"
  pulls = {
    a-source-of-twenty-c = { databases = ["a-database-whose-name-is-as-long-as-that-of-mysql-can-be-64-char"], secret = "s" }
  }
  shreds = {
    a-name-of-20-letters = { events = ["gs://lake/good"], output = "gs://shredded/web", format = "csv", input = "self-describing" }
  }
}

run "longest_names" {
  command = plan
}
