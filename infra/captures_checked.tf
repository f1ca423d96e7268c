# A plan refuses what the process would refuse at its start, or Google at creation, and reports all entries at once.
# The error belongs to the output `captures`, since the validation of a variable cannot use computed values.
locals {
  capture_name    = "^[a-z][a-z0-9-]{0,15}[a-z0-9]$" # an account's id has 30 characters, and prefix and `capture-` take 13
  capture_line    = "^[^\\s\\p{Z}\\p{C}](?:[^\\r\\n]*[^\\s\\p{Z}\\p{C}])?$"
  capture_memory  = "^(?:[1-9][0-9]*Gi|(?:51[2-9]|5[2-9][0-9]|[6-9][0-9]{2}|[1-9][0-9]{3,})Mi)$"
  capture_window  = "^(?:[01][0-9]|2[0-3]):[0-5][0-9]-(?:[01][0-9]|2[0-3]):[0-5][0-9](?: [A-Za-z][A-Za-z0-9_+/-]*)?$"
  capture_number  = "0*[1-9][0-9]*"
  capture_ranges  = "(?:(?::[A-Za-z_][A-Za-z0-9_]{0,31})*:${local.capture_number}(?:-${local.capture_number})?)+"
  capture_gtids   = "(?:[0-9]+-[0-9]+-[0-9]+|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}${local.capture_ranges})"
  capture_sources = [for name, capture in module.typed.captures : coalesce(capture.source, name)]
  capture_numbers = [for capture in module.typed.captures : capture.server_id if capture.server_id != null]
  capture_emails = concat(
    values(var.service_accounts),
    [for capture in module.typed.captures : capture.service_account if capture.service_account != null],
    [for id in values(local.account_ids) : "${id}@${var.project}.iam.gserviceaccount.com"],
    [for name, capture in module.typed.captures : "${var.prefix}capture-${name}@${var.project}.iam.gserviceaccount.com" if capture.service_account == null],
  )

  # The names that capture gives its tables. Names of groups are removed, since an expression can use a name only once.
  capture_table = "customer_v_123abcdef"
  capture_named = {
    for dataset, pattern in local.version_patterns : dataset => try(
      regex("^(?:${pattern})$", local.capture_table).base == "customer" && regex("^(?:${pattern})$", local.capture_table).version == "123abcdef",
      can(regex("^(?:${replace(pattern, "/\\(\\?P<\\w+>/", "(")})$", local.capture_table)),
    )
  }

  capture_faults = flatten([
    for name, capture in module.typed.captures : [
      for fault, wrong in {
        "its name must have 2 to 17 lower-case letters, digits and hyphens, begin with a letter, and not be records"                                                         = !can(regex(local.capture_name, name)) || name == local.large_records_folder
        "source must be one line of text: it is part of the key of every row"                                                                                                = capture.source != null && !can(regex(local.capture_line, capture.source))
        "source ${coalesce(capture.source, name)} is that of another entry: each source is captured once"                                                                    = length([for source in local.capture_sources : source if source == coalesce(capture.source, name)]) > 1
        "host must be a name or an address, without port"                                                                                                                    = !can(regex("^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$", capture.host))
        "port must be a whole number from 1 to 65535"                                                                                                                        = floor(capture.port) != capture.port || capture.port < 1 || capture.port > 65535
        "user must be one line of text"                                                                                                                                      = !can(regex(local.capture_line, capture.user))
        "secret must be the id of a secret of the project, which holds the password"                                                                                         = !can(regex("^[A-Za-z0-9_-]{1,255}$", capture.secret))
        "secret_version must be latest or a number"                                                                                                                          = !can(regex("^(?:latest|[1-9][0-9]*)$", capture.secret_version))
        "dataset ${capture.dataset} is not among datasets: rows of its tables would not land"                                                                                = !contains(var.datasets, capture.dataset)
        "version_pattern of dataset ${capture.dataset} does not match ${local.capture_table}, as capture names its tables: set another one, or capture into another dataset" = !try(local.capture_named[capture.dataset], true)
        "include and exclude must be patterns as shop.order* or shop_*"                                                                                                      = anytrue([for pattern in concat(capture.include, capture.exclude) : !can(regex(local.capture_line, pattern))])
        "start must be FILE:OFFSET, as mysql-bin.000123:4"                                                                                                                   = capture.start != null && !can(regex("^[^\\r\\n]*\\.[0-9]+:[0-9]+$", capture.start))
        "gtid must be a set as UUID:1-5 or 0-1-5"                                                                                                                            = capture.gtid != null && (!can(regex("^${local.capture_gtids}(?:, *${local.capture_gtids})*$", capture.gtid)) || anytrue([for range in regexall(":([0-9]+)-([0-9]+)", coalesce(capture.gtid, "-")) : tonumber(range[0]) > tonumber(range[1])]))
        "start and gtid both say where to begin: name one"                                                                                                                   = capture.start != null && capture.gtid != null
        "epoch must be a whole number, at least 1"                                                                                                                           = capture.epoch != null && try(floor(capture.epoch) != capture.epoch || capture.epoch < 1, false)
        "server_id must be a whole number from 1 to 4294967295"                                                                                                              = capture.server_id != null && try(floor(capture.server_id) != capture.server_id || capture.server_id < 1 || capture.server_id > 4294967295, false)
        "server_id ${coalesce(capture.server_id, 0)} is that of another entry"                                                                                               = length([for number in local.capture_numbers : number if number == capture.server_id]) > 1
        "copy_rate must be a whole number, at least 1"                                                                                                                       = capture.copy_rate != null && try(floor(capture.copy_rate) != capture.copy_rate || capture.copy_rate < 1, false)
        "copy_window must be HH:MM-HH:MM with different times, and perhaps a time zone, as 22:00-05:00 Europe/Berlin"                                                        = capture.copy_window != null && (!can(regex(local.capture_window, capture.copy_window)) || try(regex("^(.....)-(.....)", capture.copy_window)[0] == regex("^(.....)-(.....)", capture.copy_window)[1], false))
        "tls must name secrets by ca, cert and key"                                                                                                                          = length(setsubtract(keys(capture.tls), ["ca", "cert", "key"])) > 0 || anytrue([for secret in values(capture.tls) : !can(regex("^[A-Za-z0-9_-]{1,255}$", secret))])
        "tls key needs cert"                                                                                                                                                 = contains(keys(capture.tls), "key") && !contains(keys(capture.tls), "cert")
        "tls_any_name needs tls ca"                                                                                                                                          = capture.tls_any_name && !contains(keys(capture.tls), "ca")
        "network must be projects/P/global/networks/N"                                                                                                                       = capture.network != null && !can(regex("^projects/[a-z0-9.:-]+/global/networks/[a-z][a-z0-9-]*$", capture.network))
        "subnetwork must be projects/P/regions/${var.region}/subnetworks/S"                                                                                                  = capture.subnetwork != null && !can(regex("^projects/[a-z0-9.:-]+/regions/${var.region}/subnetworks/[a-z][a-z0-9-]*$", capture.subnetwork))
        "egress must be PRIVATE_RANGES_ONLY or ALL_TRAFFIC"                                                                                                                  = !contains(["PRIVATE_RANGES_ONLY", "ALL_TRAFFIC"], capture.egress)
        "cpu must be 1, 2, 4 or 8"                                                                                                                                           = !contains(["1", "2", "4", "8"], capture.cpu)
        "memory must be 512Mi at least, as 1Gi"                                                                                                                              = !can(regex(local.capture_memory, capture.memory))
        "flush_seconds must be a number from 0.1 to 60"                                                                                                                      = capture.flush_seconds != null && try(capture.flush_seconds < 0.1 || capture.flush_seconds > 60, false)
        "metrics_port must be a whole number from 1024 to 65535"                                                                                                             = capture.metrics_port != null && try(floor(capture.metrics_port) != capture.metrics_port || capture.metrics_port < 1024 || capture.metrics_port > 65535, false)
        "service_account must be the e-mail of an account of the project"                                                                                                    = capture.service_account != null && !can(regex("^[a-z0-9-]+@${var.project}\\.iam\\.gserviceaccount\\.com$", capture.service_account))
        "service_account is that of something else: each source needs one of its own"                                                                                        = capture.service_account != null && length([for email in local.capture_emails : email if email == capture.service_account]) > 1
        "checks needs check_schedule, or nothing checks these tables"                                                                                                        = capture.checks != null && var.check_schedule == null
        "checks: pulls has a source of this name, and a batch runs as one account of a source: give this entry another name, and its source to `source`"                     = capture.checks != null && contains(keys(var.pulls), name)
        "checks: the entry and each of its databases must be among `sources` of onefold.yaml"                                                                                = capture.checks != null && !try(length(capture.checks.databases) > 0 && length(setsubtract(capture.checks.databases, local.source_databases[name])) == 0, false)
        "checks: secret must be the id of a secret of the project"                                                                                                           = try(capture.checks.secret, null) != null && !can(regex("^[A-Za-z0-9_-]{1,255}$", capture.checks.secret))
        "checks: settle_seconds must be a whole number from 0 to 86400"                                                                                                      = try(floor(capture.checks.settle_seconds) != capture.checks.settle_seconds || capture.checks.settle_seconds < 0 || capture.checks.settle_seconds > 86400, false)
        "checks: databases_per_batch must be a whole number from 1 to 200"                                                                                                   = try(floor(capture.checks.databases_per_batch) != capture.checks.databases_per_batch || capture.checks.databases_per_batch < 1 || capture.checks.databases_per_batch > 200, false)
        "checks: fix needs a source without , and ="                                                                                                                         = try(capture.checks.fix, false) && length(regexall("[,=]", coalesce(capture.source, name))) > 0
        "checks: pymysql.zip or compiled_libraries.zip is not in the folder of packages: run `make package`"                                                                 = capture.checks != null && !alltrue([for file in ["pymysql.zip", "compiled_libraries.zip"] : fileexists("${local.package}/${file}")])
        "capture_image is missing: build it with make image, docs/how-to/deploy.md"                                                                                          = capture.worker_pool && var.capture_image == null
      } : "captures.${name}: ${fault}" if wrong
    ]
  ])
}

output "captures" {
  description = "The captured sources: the account that reads each, its checkpoint, and its worker pool."
  value = {
    for name, capture in local.captures : name => {
      service_account = capture.account
      checkpoint      = "gs://${module.buckets.names["capture"]}/${name}"
      large_records   = "gs://${module.buckets.names["capture"]}/${capture.records}"
      worker_pool     = one([for pool in google_cloud_run_v2_worker_pool.capture : pool.name if pool.name == capture.full_name])
    }
  }

  precondition {
    condition     = length(local.capture_faults) == 0
    error_message = join("\n", local.capture_faults)
  }
}
