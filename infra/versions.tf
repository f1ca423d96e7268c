terraform {
  # 1.9 is the first version in which a validation may use another variable.
  required_version = ">= 1.9"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "~> 8.0"
    }
  }

  # `terraform init -backend-config` names the bucket; `make deploy` creates it: docs/how-to/deploy.md.
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
