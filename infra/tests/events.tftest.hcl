# Tables of events; the list of rights is in tests/infra/test_events.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan

  override_resource {
    target = google_service_account.account["load_shredded"]
    values = { email = "onefold-load-shredded@my-project.iam.gserviceaccount.com" }
  }
  override_resource {
    target = google_service_account.account["push_load_shredded"]
    values = { email = "onefold-push-load-shredded@my-project.iam.gserviceaccount.com" }
  }
  override_resource {
    target = google_project_iam_custom_role.events["events"]
    values = { name = "projects/my-project/roles/onefold_events" }
  }
  override_resource {
    target = google_pubsub_topic.topic["shredded-runs"]
    values = { id = "projects/my-project/topics/shredded-runs" }
  }
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
