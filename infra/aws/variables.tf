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
  description = "What the shredder reads on a schedule, and the registries of its schemas in their order; by default nothing runs by itself."
  type = object({
    events     = list(string)
    registries = list(string)
    # The buckets that a resolver's file names: the plan cannot read the file, and the job needs the right to read them.
    resolver_buckets  = optional(list(string), [])
    input             = optional(string, "enriched-tsv")
    format            = optional(string, "csv")
    unknown           = optional(string, "bad_event")
    bad_percent       = optional(number, 5)
    duplicates_window = optional(number, 0)
    schedule          = optional(string, "rate(1 hour)")
    minutes           = optional(number, 180)
    vcpus             = optional(number, 32)
    # S3's events start a job as well, so many seconds after the first new file.
    event_seconds = optional(number)
  })
  default = null

  validation {
    condition     = var.shred == null || try(length(var.shred.events) > 0 && alltrue([for place in var.shred.events : can(regex("^s3://[a-z0-9][a-z0-9.-]+/\\S+$", place))]), false)
    error_message = "shred.events must name files or folders of S3, such as s3://acme-collector/good."
  }
  validation {
    condition     = var.shred == null || try(length(var.shred.registries) > 0 && alltrue([for place in var.shred.registries : can(regex("^(s3://[a-z0-9][a-z0-9.-]+|https?://\\S+)", place))]), false)
    error_message = "shred.registries must name buckets, such as s3://acme-registry, https://HOST/PATH, or a resolver's file in a bucket."
  }
  # What the job refuses at its start: one address with and without a slash is twice the same.
  validation {
    condition     = var.shred == null || try(length(distinct([for place in var.shred.registries : replace(place, "/\\/+$/", "")])) == length(var.shred.registries), false)
    error_message = "shred.registries must be named once each, with or without a slash at the end."
  }
  validation {
    condition     = try(length(var.shred.registries) < 2, true) || !anytrue([for place in try(var.shred.registries, []) : endswith(trimsuffix(place, "/"), ".json")])
    error_message = "shred.registries must be either registries or one resolver's file, which is the whole list: name the others in the file."
  }
  validation {
    condition     = alltrue([for place in try(var.shred.resolver_buckets, []) : can(regex("^s3://[a-z0-9][a-z0-9.-]+(/[^\\s*?]+)?$", place))]) && (length(try(var.shred.resolver_buckets, [])) == 0 || anytrue([for place in try(var.shred.registries, []) : endswith(trimsuffix(place, "/"), ".json")]))
    error_message = "shred.resolver_buckets must be the buckets or folders, such as s3://acme-registry, that the resolver's file of shred.registries names."
  }
  validation {
    condition     = var.shred == null || contains(["self-describing", "enriched-tsv", "enriched-json"], try(var.shred.input, ""))
    error_message = "shred.input must be self-describing, enriched-tsv or enriched-json."
  }
  validation {
    condition     = var.shred == null || contains(["csv", "parquet"], try(var.shred.format, ""))
    error_message = "shred.format must be csv or parquet."
  }
  validation {
    condition     = var.shred == null || contains(["bad_event", "bad_entity", "keep_json"], try(var.shred.unknown, ""))
    error_message = "shred.unknown must be bad_event, bad_entity or keep_json."
  }
  validation {
    condition     = var.shred == null || contains(range(0, 101), try(var.shred.bad_percent, -1))
    error_message = "shred.bad_percent must be a whole number from 0 to 100."
  }
  validation {
    condition     = var.shred == null || contains(range(366), try(var.shred.duplicates_window, -1))
    error_message = "shred.duplicates_window must be a whole number from 0 to 365."
  }
  # Events are compared with the files of the runs of the window, which have to be there.
  validation {
    condition     = var.days == 0 || var.days >= try(var.shred.duplicates_window, 0)
    error_message = "shred.duplicates_window must be at most `days`, after which the files of the runs are deleted: raise days, or choose a shorter window."
  }
  validation {
    condition     = var.shred == null || can(regex("^(rate|cron)\\(.+\\)$", try(var.shred.schedule, "")))
    error_message = "shred.schedule must be rate(...) or cron(...), as EventBridge Scheduler has them."
  }
  validation {
    condition     = var.shred == null || try(var.shred.minutes >= 5 && var.shred.vcpus >= 8, false)
    error_message = "shred.minutes must be 5 or more, and shred.vcpus 8 or more."
  }
  validation {
    condition     = contains(range(1, 301), coalesce(try(var.shred.event_seconds, null), 1))
    error_message = "shred.event_seconds must be a whole number from 1 to 300, as a queue of a function has it."
  }
  # The function that starts jobs has the arguments in its environment, which holds 4 KB.
  validation {
    condition = try(var.shred.event_seconds, null) == null || try(
      length(jsonencode(concat(var.shred.events, var.shred.registries))) <= 2500
      && !alltrue([for place in var.shred.events : startswith(place, "s3://${var.bucket}/${var.folder}/")]), false
    )
    error_message = "shred.event_seconds must go with events outside of the runs, and with 2,500 characters of events and registries at most."
  }
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
