# The pages of datasets; the list of rights is in tests/infra/test_pages.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project        = "my-project"
  region         = "europe-west1"
  datasets       = ["shop", "crm"]
  clean_views    = ["shop"]
  pages_schedule = "0 6 * * *"
  pages_readers  = ["group:data@example.com"]

  changes_dataset = "onefold_changes"
  captures        = { shop-db = { host = "10.0.0.3", user = "onefold", secret = "shop-password", dataset = "shop" } }
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold/capture@sha256:0000000000000000000000000000000000000000000000000000000000000000"
}

run "pages" {
  command = plan
}
