# What roles, conditions, filters and thresholds say; the lists are in tests/support/infra_expected.py.

mock_provider "google" {
  source          = "./tests/mocks"
  override_during = plan
}

variables {
  project         = "my-project"
  region          = "europe-west1"
  datasets        = ["shop", "crm"]
  batch_folders   = ["gs://exports/shop/daily/", "gs://archive"]
  capture_image   = "europe-west1-docker.pkg.dev/my-project/onefold-capture/capture@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
  schema_registry = { keys = "registry-keys", public = ["org.open", "com.acme.public"], callers = ["allUsers"] }
  writers = {
    shop = ["events@my-project.iam.gserviceaccount.com"]
    crm  = ["mails@other-project.iam.gserviceaccount.com"]
  }
  access_trigger = {
    repository   = "projects/my-project/locations/europe-west1/connections/git/repositories/data"
    state_bucket = "my-project-onefold-terraform"
    branch       = "release"
    file         = "permissions/access.yaml"
  }
  captures = {
    shop-db = { host = "10.0.0.3", user = "onefold", secret = "shop-db-password", dataset = "shop", include = ["shop_*"] }
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
}

run "exact" {
  command = plan
}
