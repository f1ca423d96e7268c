# Batches have no public addresses, and reach BigQuery and Cloud Storage by private Google access.
locals {
  own_network = var.subnetwork == null ? 1 : 0
  subnetwork  = var.subnetwork == null ? one(google_compute_subnetwork.batches[*].id) : var.subnetwork
}

resource "google_compute_network" "batches" {
  count = local.own_network

  name                    = "${var.prefix}onefold"
  description             = "Onefold's Spark batches."
  auto_create_subnetworks = false

  depends_on = [google_project_service.api]
}

resource "google_compute_subnetwork" "batches" {
  count = local.own_network

  name                     = "${var.prefix}onefold-batches"
  network                  = google_compute_network.batches[0].id
  region                   = var.region
  ip_cidr_range            = var.subnetwork_range
  private_ip_google_access = true

  log_config {
    aggregation_interval = "INTERVAL_10_MIN"
    flow_sampling        = 0.1
    metadata             = "EXCLUDE_ALL_METADATA"
  }
}

# Driver and executors connect to each other on ports that Spark chooses.
resource "google_compute_firewall" "batches" {
  count = local.own_network

  name          = "${var.prefix}onefold-batches"
  description   = "Everything within the subnetwork of the batches, and nothing from outside."
  network       = google_compute_network.batches[0].id
  direction     = "INGRESS"
  source_ranges = [var.subnetwork_range]

  allow {
    protocol = "tcp"
  }
  allow {
    protocol = "udp"
  }
  allow {
    protocol = "icmp"
  }
}
