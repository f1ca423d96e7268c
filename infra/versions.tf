terraform {
  # 1.9 is the first in which a validation may look at another variable.
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.0"
    }
  }

  # Its bucket comes with `terraform init -backend-config`; `make deploy` makes one: docs/how-to/deploy.md.
  backend "gcs" {}
}

locals {
  labels = merge({ app = "onefold" }, var.labels)
}

provider "google" {
  project        = var.project
  region         = var.region
  default_labels = local.labels
}
