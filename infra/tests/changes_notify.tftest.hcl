# The job that notifies owners of changes; the list of rights is in tests/infra/test_changes_notify.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

override_resource {
  target          = google_service_account.notify["notify"]
  override_during = plan
  values          = { email = "onefold-notify@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_project_iam_custom_role.notify_ledger["notify"]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_notify_ledger" }
}

override_resource {
  target          = google_project_iam_custom_role.notify_rows["notify"]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_notify_rows" }
}

override_resource {
  target          = google_cloud_run_v2_job.notify["notify"]
  override_during = plan
  values          = { id = "projects/my-project/locations/europe-west1/jobs/onefold-notify" }
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop"]
  changes_dataset = "onefold_changes"
  settings_folder = "./tests/settings/owned"
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
}

run "without_a_schedule" {
  command = plan
}

run "notified" {
  command = plan
  variables {
    notify_schedule = "*/10 * * * *"
  }
}

run "without_a_ledger_an_image_and_secrets" {
  command = plan
  variables {
    notify_schedule = "*/10 * * * *"
    settings_folder = "./tests/settings/owned_elsewhere"
    changes_dataset = null
    capture_image   = null
  }
  expect_failures = [var.notify_schedule]
}

run "without_owners" {
  command = plan
  variables {
    notify_schedule = "*/10 * * * *"
    settings_folder = "./tests/settings"
  }
  expect_failures = [var.notify_schedule]
}

run "without_a_time" {
  command = plan
  variables {
    notify_schedule = "often"
  }
  expect_failures = [var.notify_schedule]
}
