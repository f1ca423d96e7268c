# A deployment with all that can be deployed, compared line by line with tests/infra/everything.txt.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop", "crm", "events", "fraud_models", "ads_clicks"]
  changes_dataset = "onefold_changes"
  clean_views     = ["shop", "ads_clicks"]
  batch_folders   = ["gs://exports/shop/daily/", "gs://archive"]
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  alert_email     = "data@example.com"
  schema_registry = { keys = "registry-keys", public = ["org.open"], callers = ["group:data@example.com"] }
  writers         = { shop = ["events@my-project.iam.gserviceaccount.com"] }
  access_trigger = {
    repository   = "projects/my-project/locations/europe-west1/connections/git/repositories/data"
    state_bucket = "my-project-onefold-terraform"
  }
  captures = {
    shop-db = { host = "10.0.0.3", user = "onefold", secret = "shop-db-password", dataset = "shop", include = ["shop_*"], network = "projects/host/global/networks/n" }
    # With every field.
    crm-db = {
      source         = "CRM"
      host           = "crm.internal"
      port           = 3307
      user           = "reader"
      secret         = "crm-password"
      secret_version = "3"
      dataset        = "crm"
      include        = ["crm.*"]
      exclude        = ["*._*_gho", "crm.tmp"]
      snapshot       = false
      start          = "mysql-bin.000123:4"
      epoch          = 2
      gtid_failover  = true
      copy_rate      = 2000
      copy_window    = "22:00-05:00 Europe/Berlin"
      server_id      = 4000
      tls            = { ca = "crm-ca", cert = "crm-cert", key = "crm-key" }
      tls_any_name   = true
      network        = "projects/host/global/networks/n"
      subnetwork     = "projects/host/regions/europe-west1/subnetworks/s"
      cpu            = "2"
      memory         = "2Gi"
      metrics_port   = 9464
    }
    # Its process runs elsewhere.
    old-db = { host = "192.0.2.1", user = "u", secret = "old", dataset = "crm", worker_pool = false, service_account = "given@my-project.iam.gserviceaccount.com" }
  }
  events = { dataset = "events", runs = "gs://acme-events/shredded/" }

  settings_folder = "./tests/settings"
  pulls = {
    fraud = { databases = ["models"], secret = "fraud-password" }
    ads   = { databases = ["clicks"], secret = "ads-password", parallel = 16, gzip = true }
  }
  shreds = {
    web = { events = ["gs://lake/good/2026-*/*.gz", "gs://lake/recovered/"], output = "gs://shredded/web/", format = "parquet", input = "enriched-tsv" }
    app = { events = ["gs://lake/good"], registries = ["gs://schemas", "gs://central/iglu"], output = "gs://shredded/app", format = "csv", input = "self-describing", schedule = "*/30 * * * *" }
  }
  plain_table_datasets = ["legacy"]
  stream_network       = { network = "projects/my-project/global/networks/vpc", range = "10.10.0.0/29" }
  streams = {
    erp     = { source = "oracle", host = "erp.internal", user = "DATASTREAM", secret = "erp-password", database = "ORCL", schemas = { USER1 = ["TABLE1"] }, running = false }
    billing = { source = "postgresql", host = "10.0.0.4", user = "datastream", secret = "billing-password", database = "billing", publication = "pub", replication_slot = "slot", schemas = { public = ["invoice"] }, dataset_prefix = "billing_", backfill = false }
    stock   = { source = "mysql", host = "10.0.0.3", user = "datastream", secret = "stock-password", schemas = { stock = ["item"], parts = [] } }
  }
  check_schedule = "0 */2 * * *"
  merge_schedule = "30 * * * *"
  pages_schedule = "0 6 * * *"
  pages_readers  = ["group:data@example.com"]
  reconcile_schedules = [
    { dataset = "shop", table = "customer", schedule = "30 4 * * *", arguments = { keys = ["id"] } },
  ]
}

run "everything" {
  command = plan
}
