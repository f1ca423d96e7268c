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
}

run "pages" {
  command = plan
}
