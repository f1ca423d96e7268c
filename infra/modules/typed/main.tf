# The types of settings with attributes, and their defaults. Terraform drops an attribute that a type lacks, so the variables of
# the deployment have any type, and attributes_checked.tf refuses what has no place here.

variable "captures" {
  description = "The captured databases by a short name."
  type = map(object({
    source          = optional(string) # its name in the key of every row, for ever; default: the short name
    host            = string
    port            = optional(number, 3306)
    user            = string
    secret          = string # the id of a secret of the project, made by a person, whose versions are the password
    secret_version  = optional(string, "latest")
    dataset         = string
    include         = optional(list(string), [])
    exclude         = optional(list(string), [])
    snapshot        = optional(bool, true)
    start           = optional(string)
    gtid            = optional(string)
    epoch           = optional(number)
    gtid_failover   = optional(bool, false)
    copy_rate       = optional(number) # rows per second that copies read at most
    copy_window     = optional(string) # the hours at which copies read, in UTC or with a zone behind them
    server_id       = optional(number)
    tls             = optional(map(string), {}) # ids of secrets that hold the files ca, cert and key
    tls_any_name    = optional(bool, false)
    network         = optional(string) # with either of the two, private addresses are reached through it
    subnetwork      = optional(string)
    egress          = optional(string, "PRIVATE_RANGES_ONLY")
    cpu             = optional(string, "1")
    memory          = optional(string, "1Gi")
    flush_seconds   = optional(number)     # rows wait so long at most for others to share a message
    metrics_port    = optional(number)     # answers /healthz, which Cloud Run then asks, and /metrics
    service_account = optional(string)     # the e-mail of an account that exists; default: one is made
    worker_pool     = optional(bool, true) # false: account and rights alone, for a process that runs elsewhere
    checks = optional(object({             # check_schedule compares the tables of these databases with their views
      databases           = list(string)
      secret              = optional(string) # the password of the user who reads for checks; default: that of the capture
      fix                 = optional(bool, false)
      settle_seconds      = optional(number, 600) # a difference has to last longer than a change is under way
      databases_per_batch = optional(number, 100)
    }))
  }))
  nullable = false
}

variable "access_trigger" {
  description = "The trigger of Cloud Build that applies access.yaml."
  type = object({
    repository   = string # projects/P/locations/R/connections/C/repositories/N
    state_bucket = string # PROJECT-onefold-terraform
    branch       = optional(string, "main")
    file         = optional(string, "access.yaml")
  })
}

variable "pulls" {
  description = "The pulled sources by their name in onefold.yaml."
  type = map(object({
    databases           = list(string)
    secret              = string
    parallel            = optional(number)
    gzip                = optional(bool, false)
    databases_per_batch = optional(number, 100)
    stream_below        = optional(number, 0)
  }))
  nullable = false
}

variable "streams" {
  description = "Streams of Datastream by a name of their own."
  type = map(object({
    source           = string
    host             = string
    port             = optional(number)
    user             = string
    secret           = string
    secret_version   = optional(string, "latest")
    database         = optional(string)
    publication      = optional(string)
    replication_slot = optional(string)
    schemas          = map(list(string))
    dataset_prefix   = optional(string, "")
    backfill         = optional(bool, true)
    running          = optional(bool, true)
  }))
  nullable = false
}

variable "shreds" {
  description = "Folders of events that are shredded, by a name of their own."
  type = map(object({
    events            = list(string)
    output            = string
    input             = string
    warehouse         = optional(string)
    format            = optional(string)
    registry          = optional(string)
    registries        = optional(list(string), [])
    unknown           = optional(string, "bad_event")
    layout            = optional(string, "tables")
    duplicates_window = optional(number, 0)
    bad_percent       = optional(number, 5)
    schedule          = optional(string, "5 * * * *")
  }))
  nullable = false
}

variable "schema_registry" {
  description = "The schema registry."
  type = object({
    keys       = optional(string) # a person makes the secret; without it nothing can be added
    public     = optional(list(string), [])
    order      = optional(string, "by-addition")
    patches    = optional(bool, false)
    warehouses = optional(list(string), []) # none: both
    callers    = optional(list(string), [])
  })
}

variable "column_readers" {
  description = "The daily job that finds out who reads each column."
  type        = object({ schedule = optional(string, "15 3 * * *") })
}

variable "reconcile_schedules" {
  description = "Batches at fixed times."
  type = list(object({
    dataset   = string
    table     = string
    schedule  = string
    job       = optional(string, "reconcile")
    arguments = optional(map(list(string)), {})
  }))
  nullable = false
}

output "captures" {
  description = "The captured databases by a short name."
  value       = var.captures
}

output "access_trigger" {
  description = "The trigger of Cloud Build that applies access.yaml."
  value       = var.access_trigger
}

output "pulls" {
  description = "The pulled sources by their name in onefold.yaml."
  value       = var.pulls
}

output "streams" {
  description = "Streams of Datastream by a name of their own."
  value       = var.streams
}

output "shreds" {
  description = "Folders of events that are shredded, by a name of their own."
  value       = var.shreds
}

output "schema_registry" {
  description = "The schema registry."
  value       = var.schema_registry
}

output "column_readers" {
  description = "The daily job that finds out who reads each column."
  value       = var.column_readers
}

output "reconcile_schedules" {
  description = "Batches at fixed times."
  value       = var.reconcile_schedules
}
