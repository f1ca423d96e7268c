# The version of the provider. The first `terraform init` adds the hashes of the release; commit them.
provider "registry.terraform.io/hashicorp/google" {
  version     = "8.0.0"
  constraints = "~> 8.0"
}
