# The daily job that finds out who reads each column; the list of rights is in tests/infra/test_column_readers.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

override_resource {
  target          = google_service_account.readers["readers"]
  override_during = plan
  values          = { email = "onefold-readers@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_project_iam_custom_role.readers["readers"]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_readers" }
}

override_resource {
  target          = google_project_iam_custom_role.readers_rows["readers"]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_readers_rows" }
}

override_resource {
  target          = google_cloud_run_v2_job.readers["readers"]
  override_during = plan
  values          = { id = "projects/my-project/locations/europe-west1/jobs/onefold-readers" }
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop"]
  changes_dataset = "onefold_changes"
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
}

run "without_readers" {
  command = plan
}

run "readers" {
  command = plan
  variables {
    column_readers = {}
  }
}

run "readers_without_a_ledger" {
  command = plan
  variables {
    changes_dataset = null
    column_readers  = {}
  }
  expect_failures = [var.column_readers]
}

run "readers_without_a_time" {
  command = plan
  variables {
    column_readers = { schedule = "daily" }
  }
  expect_failures = [var.column_readers]
}
