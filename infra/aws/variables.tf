variable "account" {
  description = "The account of all resources, 12 digits. Terraform refuses to change another one."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account))
    error_message = "account must be the 12 digits of an account, such as 123456789012."
  }
}

variable "region" {
  description = "The region of the bucket and of Redshift, such as eu-central-1: COPY reads without charge within a region."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "region must be a region such as eu-central-1."
  }
}

variable "partition" {
  description = "The partition of the region: aws, aws-cn or aws-us-gov."
  type        = string
  default     = "aws"

  validation {
    condition     = contains(["aws", "aws-cn", "aws-us-gov"], var.partition)
    error_message = "partition must be aws, aws-cn or aws-us-gov."
  }
}

variable "bucket" {
  description = "The name of the new bucket for the files of the shredder."
  type        = string

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$", var.bucket))
    error_message = "bucket must have 3 to 63 lower-case letters, digits and hyphens: dots do not go together with TLS."
  }
}

variable "folder" {
  description = "The folder of the bucket below which the runs of the shredder are."
  type        = string
  default     = "shredded"

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$", var.folder))
    error_message = "folder must be a folder such as shredded or events/shredded, without a slash at its ends."
  }
}

variable "workgroup" {
  description = "Redshift Serverless: the name and the id of the workgroup into which events are loaded."
  type        = object({ name = string, id = string })
  default     = null

  validation {
    condition     = (var.workgroup == null) != (var.cluster == null)
    error_message = "workgroup or cluster must be given, and not both."
  }
}

variable "cluster" {
  description = "A provisioned cluster of Redshift into which events are loaded: its name."
  type        = string
  default     = null
}

variable "database" {
  description = "The database of the tables of events."
  type        = string
}

variable "db_users" {
  description = "The users of the database that may run COPY with the role, such as IAMR:onefold-loader; * for every user."
  type        = list(string)

  validation {
    condition     = length(var.db_users) > 0
    error_message = "db_users must name the users of the database that run COPY."
  }
}

variable "secret" {
  description = "The ARN of the secret with which the loader signs in; by default it signs in by IAM."
  type        = string
  default     = null

  validation {
    condition     = var.secret == null || can(regex("^arn:[a-z-]+:secretsmanager:", var.secret))
    error_message = "secret must be the ARN of a secret."
  }
}

variable "schema" {
  description = "The schema of the tables of events, into which the loader loads."
  type        = string
  default     = "atomic"

  validation {
    condition     = can(regex("^[a-z_][a-z0-9_]{0,126}$", var.schema))
    error_message = "schema must have lower-case letters, digits and underscores."
  }
}

variable "since" {
  description = "The first run that the loader loads, or the beginning of its name, as 2026-11; by default it loads all runs."
  type        = string
  default     = null

  validation {
    condition     = var.since == null || can(regex("^[0-9]{4}(-[0-9]{2}){0,5}$", var.since))
    error_message = "since must be the beginning of a run's name, as 2026-11 or 2026-11-23."
  }
}

variable "shred" {
  description = "What the shredder reads on a schedule, and the registries of its schemas in their order; by default nothing runs by itself. shred_checked.tf has its attributes and their defaults."
  type        = any
  default     = null
}

variable "catalog" {
  description = "The database of the Glue Data Catalog for external tables over the runs; by default there are none."
  type        = string
  default     = null

  validation {
    condition     = var.catalog == null || can(regex("^[a-z0-9_]{1,255}$", var.catalog))
    error_message = "catalog must be a database of Glue: lower-case letters, digits and underscores."
  }
}

variable "external" {
  description = "The schema of external tables over the runs and that of the views over these and the loaded tables, which the loader keeps: `schema` and `views`. It goes with `catalog`, and with runs in Parquet; by default the loader makes none."
  type        = object({ schema = string, views = string })
  default     = null

  validation {
    condition     = var.external == null || try(alltrue([for name in [var.external.schema, var.external.views] : can(regex("^[a-z_][a-z0-9_]{0,126}$", name))]), false)
    error_message = "external must name schemas by lower-case letters, digits and underscores."
  }
}

variable "network" {
  description = "Subnets and security groups of the shredder; a registry by HTTP needs some that reach it. By default it reaches AWS alone."
  type        = object({ subnets = list(string), security_groups = list(string) })
  default     = null
}

variable "alert_email" {
  description = "Who gets alarms; whoever it is has to confirm the mail of AWS. Without it, add a subscription to the topic yourself."
  type        = string
  default     = null
}

variable "budget" {
  description = "The US dollars that EMR Serverless, Lambda and Redshift of the account may cost in a month before somebody is told; 0 for no budget."
  type        = number
  default     = 0

  validation {
    condition     = var.budget >= 0
    error_message = "budget must be 0 or more."
  }
}

variable "kms_key" {
  description = "The ARN of a key of KMS for everything; by default there is one of its own where `shred` is given, else S3 encrypts with keys of its own."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^arn:[a-z-]+:kms:", var.kms_key))
    error_message = "kms_key must be the ARN of a key of KMS."
  }
}

variable "days" {
  description = "The days after which files of runs are deleted; 0 keeps them. Runs have to be loaded by then; _commits/ stays."
  type        = number
  default     = 0

  validation {
    condition     = var.days >= 0 && floor(var.days) == var.days
    error_message = "days must be a whole number, 0 or more."
  }
}

variable "tags" {
  description = "Tags of all resources."
  type        = map(string)
  default     = {}
}
