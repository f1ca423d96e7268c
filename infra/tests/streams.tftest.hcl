# Streams of Datastream from each kind of source; what is held is in tests/infra/test_streams.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project              = "my-project"
  region               = "europe-west1"
  datasets             = ["crm"]
  clean_views          = ["shop", "legacy"]
  plain_table_datasets = ["legacy"]
  merge_schedule       = "30 * * * *"
  stream_network       = { network = "projects/my-project/global/networks/vpc", range = "10.10.0.0/29" }
  streams = {
    shop    = { source = "mysql", host = "10.0.0.3", user = "datastream", secret = "shop-password", schemas = { shop = ["orders", "customer"], stock = [] } }
    billing = { source = "postgresql", host = "10.0.0.4", port = 5433, user = "datastream", secret = "billing-password", secret_version = "3", database = "billing", publication = "pub", replication_slot = "slot", schemas = { public = ["invoice"] }, dataset_prefix = "billing_", backfill = false }
    erp     = { source = "oracle", host = "erp.internal", user = "DATASTREAM", secret = "erp-password", database = "ORCL", schemas = { USER1 = ["TABLE1"] }, running = false }
  }
}

run "three_sources" {
  command = plan
}

run "entries_that_datastream_would_refuse" {
  command = plan
  variables {
    streams = {
      A  = { source = "sqlite", host = "a:b c", port = 0, user = "", secret = "a b", secret_version = "new", schemas = {} }
      bb = { source = "mysql", host = "h", user = "u", secret = "s", database = "d", publication = "p", schemas = { legacy = ["t", "t"], "x-y" = [] } }
      cc = { source = "postgresql", host = "h", user = "u", secret = "s", schemas = { same = [] } }
      dd = { source = "mysql", host = "h", user = "u", secret = "s", schemas = { same = [] } }
    }
    clean_views = []
  }
  expect_failures = [output.streams]
}
