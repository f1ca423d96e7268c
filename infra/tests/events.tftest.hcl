# Tables of events; the list of rights is in tests/infra/test_events.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project  = "my-project"
  region   = "europe-west1"
  datasets = ["shop", "events"]
  events   = { dataset = "events", runs = "gs://acme-events/shredded/" }
}

run "a_folder" {
  command = plan
}

run "a_whole_bucket" {
  command = plan
  variables {
    events = { dataset = "events", runs = "gs://acme-events" }
  }
}
