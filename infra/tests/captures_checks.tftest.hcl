# Captured sources whose tables are checked; the list of rights is in tests/infra/test_captures_checks.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

override_resource {
  target          = google_service_account.check["shop-db"]
  override_during = plan
  values          = { email = "check-shop-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_service_account.check["crm-db"]
  override_during = plan
  values          = { email = "check-crm-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_service_account.capture["shop-db"]
  override_during = plan
  values          = { email = "capture-shop-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_service_account.capture["crm-db"]
  override_during = plan
  values          = { email = "capture-crm-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_service_account.capture["other-db"]
  override_during = plan
  values          = { email = "capture-other-db@my-project.iam.gserviceaccount.com" }
}

override_resource {
  target          = google_project_iam_custom_role.check_copies[0]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_check_copies" }
}

override_resource {
  target          = google_project_iam_custom_role.check_create[0]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_check_create" }
}

override_resource {
  target          = google_project_iam_custom_role.check_rows[0]
  override_during = plan
  values          = { name = "projects/my-project/roles/onefold_check_rows" }
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop", "crm"]
  settings_folder = "./tests/settings/captured"
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  check_schedule  = "0 */2 * * *"
  captures = {
    shop-db = {
      host   = "10.0.0.3", user = "onefold", secret = "shop-password", dataset = "shop"
      checks = { databases = ["shop_1", "shop_2", "shop_3"], secret = "shop-reader", fix = true, databases_per_batch = 2 }
    }
    crm-db = {
      source = "CRM", host = "crm.internal", user = "onefold", secret = "crm-password", dataset = "crm", tls = { ca = "crm-ca" }
      checks = { databases = ["crm"], settle_seconds = 1200 }
    }
    other-db = { host = "other.internal", user = "onefold", secret = "other-password", dataset = "crm" }
  }
}

run "checked" {
  command = plan
}

run "a_dataset_of_views" {
  command = plan
  variables {
    view_dataset = "{dataset}_views"
  }
}
