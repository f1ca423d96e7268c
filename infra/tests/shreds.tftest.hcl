# Four outputs of events; the list of rights is in tests/infra/test_shreds.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop"]
  schema_registry = {}
  shreds = {
    web  = { events = ["gs://lake/good/2026-*/*.gz", "gs://lake/recovered/"], output = "gs://shredded/web/", warehouse = "bigquery", input = "enriched-tsv", layout = "wide" }
    more = { events = ["gs://lake/more"], registries = ["gs://schemas/own/", "gs://central"], output = "gs://shredded/more", format = "csv", input = "enriched-json" }
    list = { events = ["gs://lake/more"], registries = ["gs://pipeline/resolver.json"], output = "gs://shredded/list", format = "csv", input = "enriched-json" }
    app  = { events = ["gs://lake/good"], registry = "gs://schemas", output = "gs://shredded/app", format = "csv", input = "self-describing", unknown = "keep_json", duplicates_window = 7, bad_percent = 1, schedule = "*/30 * * * *" }
  }
}

run "three_shreds" {
  command = plan
}
