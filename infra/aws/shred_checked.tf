# The attributes of `shred`. Terraform drops an attribute that the type of a variable lacks, so a misspelt setting would be no
# setting. `shred` is of any type therefore, and a plan refuses what is wrong with it, all at once.
locals {
  shred_defaults = {
    events     = []
    registries = []
    # The buckets that a resolver's file names: the plan cannot read the file, and the job needs the right to read them.
    resolver_buckets  = []
    input             = "enriched-tsv"
    format            = "csv"
    unknown           = "bad_event"
    bad_percent       = 5
    duplicates_window = 0
    schedule          = "rate(1 hour)"
    minutes           = 180
    vcpus             = 32
    # S3's events start a job as well, so many seconds after the first new file.
    event_seconds = null
  }
  shred_given = merge(local.shred_defaults, try({ for name, value in var.shred : name => value if value != null }, {}))
  # Where something is wrong, nothing is planned of it.
  shred = merge(local.shred_defaults, { for name, value in local.shred_given : name => value if length(local.shred_faults) == 0 })

  shred_letters = { for name in keys(local.shred_given) : name => split("", lower(name)) }
  # Names that differ in two letters at most.
  shred_near = {
    for name in keys(local.shred_given) : name => [
      for known in keys(local.shred_defaults) : known
      if length(setsubtract(local.shred_letters[name], local.shred_letters[known])) + length(setsubtract(local.shred_letters[known], local.shred_letters[name])) <= 2
    ] if !contains(keys(local.shred_defaults), name)
  }
  shred_unknown = [
    for name, near in local.shred_near :
    "shred.${name} is no attribute of shred: write ${join(" or ", length(near) > 0 ? near : keys(local.shred_defaults))}."
  ]

  # A value of another type makes an error of its condition, which counts as wrong.
  shred_faults = var.shred == null ? [] : concat(local.shred_unknown, [
    for fault, right in {
      "events must name files or folders of S3, such as s3://acme-collector/good."                                     = try(length(tolist(local.shred_given.events)) > 0 && alltrue([for place in local.shred_given.events : can(regex("^s3://[a-z0-9][a-z0-9.-]+/\\S+$", place))]), false)
      "registries must name buckets, such as s3://acme-registry, https://HOST/PATH, or a resolver's file in a bucket." = try(length(tolist(local.shred_given.registries)) > 0 && alltrue([for place in local.shred_given.registries : can(regex("^(s3://[a-z0-9][a-z0-9.-]+|https?://\\S+)", place))]), false)
      # What the job refuses at its start: one address with and without a slash is twice the same.
      "registries must be named once each, with or without a slash at the end."                                                          = try(length(distinct([for place in local.shred_given.registries : replace(place, "/\\/+$/", "")])) == length(local.shred_given.registries), false)
      "registries must be either registries or one resolver's file, which is the whole list: name the others in the file."               = try(length(local.shred_given.registries) < 2 || !local.shred_resolver, false)
      "resolver_buckets must be the buckets or folders, such as s3://acme-registry, that the resolver's file of shred.registries names." = try(alltrue([for place in tolist(local.shred_given.resolver_buckets) : can(regex("^s3://[a-z0-9][a-z0-9.-]+(/[^\\s*?]+)?$", place))]) && (length(local.shred_given.resolver_buckets) == 0 || local.shred_resolver), false)
      "input must be self-describing, enriched-tsv or enriched-json."                                                                    = try(contains(["self-describing", "enriched-tsv", "enriched-json"], local.shred_given.input), false)
      "format must be csv or parquet."                                                                                                   = try(contains(["csv", "parquet"], local.shred_given.format), false)
      "format must be parquet with `external`, which goes with `catalog`, and names two schemas besides `schema`."                       = try(var.external == null ? true : local.shred_given.format == "parquet" && var.catalog != null && length(distinct([var.schema, var.external.schema, var.external.views])) == 3, false)
      "unknown must be bad_event, bad_entity or keep_json."                                                                              = try(contains(["bad_event", "bad_entity", "keep_json"], local.shred_given.unknown), false)
      "bad_percent must be a whole number from 0 to 100."                                                                                = try(contains(range(101), local.shred_given.bad_percent), false)
      "duplicates_window must be a whole number from 0 to 365."                                                                          = try(contains(range(366), local.shred_given.duplicates_window), false)
      # Events are compared with the files of the runs of the window, which have to be there.
      "duplicates_window must be at most `days`, after which the files of the runs are deleted: raise days, or choose a shorter window." = try(var.days == 0 || var.days >= local.shred_given.duplicates_window, false)
      "schedule must be rate(...) or cron(...), as EventBridge Scheduler has them."                                                      = can(regex("^(rate|cron)\\(.+\\)$", local.shred_given.schedule))
      "minutes must be a whole number, 5 or more."                                                                                       = try(local.shred_given.minutes >= 5 && floor(local.shred_given.minutes) == local.shred_given.minutes, false)
      "vcpus must be a whole number, 8 or more."                                                                                         = try(local.shred_given.vcpus >= 8 && floor(local.shred_given.vcpus) == local.shred_given.vcpus, false)
      "event_seconds must be a whole number from 1 to 300, as a queue of a function has it."                                             = local.shred_given.event_seconds == null || try(contains(range(1, 301), local.shred_given.event_seconds), false)
      # The function that starts jobs has the arguments in its environment, which holds 4 KB.
      "event_seconds must go with events outside of the runs, and with 2,500 characters of events and registries at most." = local.shred_given.event_seconds == null || try(length(jsonencode(concat(local.shred_given.events, local.shred_given.registries))) <= 2500 && !alltrue([for place in local.shred_given.events : startswith(place, "s3://${var.bucket}/${var.folder}/")]), false)
    } : "shred.${fault}" if !right
  ])
  shred_resolver = try(anytrue([for place in local.shred_given.registries : endswith(trimsuffix(place, "/"), ".json")]), false)
}

output "shredded" {
  description = "The files and folders of events that the shredder reads."
  value       = local.shred.events

  precondition {
    condition     = length(local.shred_faults) == 0
    error_message = join("\n", local.shred_faults)
  }
}
