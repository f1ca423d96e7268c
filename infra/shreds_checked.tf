# A plan refuses what a job or Google would refuse, and reports all entries at once, as for captures.
locals {
  shred_place = "^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]"
  shred_faults = flatten([
    for name, shred in module.typed.shreds : [
      for fault, wrong in {
        "its name must have 2 to 20 lower-case letters, digits and hyphens, and begin with a letter"                         = !can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", name))
        "events must be folders such as gs://bucket/folder, in which * and ? may match names below the bucket, without `..`" = length(shred.events) == 0 || anytrue([for place in shred.events : !can(regex("${local.shred_place}(/[A-Za-z0-9_.=+@~*?-]+)*/?$", place)) || strcontains(place, "..")])
        "output must be a folder such as gs://bucket/folder, without `..`"                                                   = !can(regex("${local.shred_place}(/[A-Za-z0-9_.=+@~-]+)+/?$", shred.output)) || strcontains(shred.output, "..")
        "folders must be at most ten levels deep: a right on a folder names each level"                                      = anytrue([for place in concat(shred.events, [shred.output], shred.registries) : length(split("/", trimsuffix(place, "/"))) > 13])
        "input must be self-describing, enriched-tsv or enriched-json"                                                       = !contains(["self-describing", "enriched-tsv", "enriched-json"], shred.input)
        # A format without a warehouse names one, as it did before a warehouse was a choice of its own.
        "warehouse must be bigquery or redshift, and format parquet, or for redshift csv or parquet"                          = !contains(["bigquery-", "bigquery-parquet", "redshift-", "redshift-csv", "redshift-parquet", "-csv", "-parquet"], "${shred.warehouse == null ? "" : shred.warehouse}-${shred.format == null ? "" : shred.format}")
        "unknown must be bad_event, bad_entity or keep_json"                                                                  = !contains(["bad_event", "bad_entity", "keep_json"], shred.unknown)
        "layout must be tables or wide; wide goes with bigquery, enriched events, and unknown bad_event or keep_json"         = shred.layout != "tables" && (shred.layout != "wide" || (shred.warehouse == null ? shred.format != "parquet" : shred.warehouse != "bigquery") || shred.input == "self-describing" || shred.unknown == "bad_entity")
        "registry must be a folder such as gs://bucket/folder; it may be left out where schema_registry or registries is set" = shred.registry == null ? var.schema_registry == null && length(shred.registries) == 0 : !can(regex("${local.shred_place}(/[A-Za-z0-9_.=+@~-]+)*$", shred.registry))
        "registries must be folders such as gs://bucket/folder, without `..`; registry must not be given as well"             = shred.registry != null && length(shred.registries) > 0 || anytrue([for place in shred.registries : !can(regex("${local.shred_place}(/[A-Za-z0-9_.=+@~-]+)*/?$", place)) || strcontains(place, "..")])
        # What a job refuses at its start: one address with and without a slash is twice the same.
        "registries must be named once each, with or without a slash at the end"                                         = length(distinct([for place in shred.registries : trimsuffix(place, "/")])) != length(shred.registries)
        "registries must be either folders or one resolver's file, which is the whole list: name the others in the file" = length(shred.registries) > 1 && anytrue([for place in shred.registries : endswith(trimsuffix(place, "/"), ".json")])
        "schedule must have the five fields of cron with possible values, as in 5 * * * *"                               = !can(regex(local.cron, shred.schedule))
        "duplicates_window must be a whole number from 0 to 365, and bad_percent from 0 to 100"                          = !contains(range(366), shred.duplicates_window) || !contains(range(101), shred.bad_percent)
        "compiled_libraries.zip is not in the folder of packages: run `make package` where it can be downloaded"         = !fileexists("${local.package}/compiled_libraries.zip")
      } : "shreds.${name}: ${fault}" if wrong
    ]
  ])
}

output "shreds" {
  description = "The folder of the runs of each entry of `shreds`."
  value       = { for name, shred in local.shreds : name => shred.output }

  precondition {
    condition     = length(local.shred_faults) == 0
    error_message = join("\n", local.shred_faults)
  }
}
