variable "project" {
  description = "The project of all resources and of the datasets."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "project must be the id of a project, such as my-project-1234, not its name or number."
  }
}

variable "region" {
  description = "The region of functions and batches, such as europe-west1."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "region must be a region such as europe-west1: put a location of BigQuery such as EU into `location`."
  }
}

variable "location" {
  description = "BigQuery's location of the datasets, as EU; default: the region. One deployment serves one location."
  type        = string
  default     = null

  validation {
    condition     = var.location == null || can(regex("^([a-zA-Z]{2}|[a-zA-Z]+-[a-zA-Z]+[0-9]+)$", var.location))
    error_message = "location must be EU, US or a region such as europe-west1."
  }
}

variable "datasets" {
  description = "The datasets of versioned tables. They must exist; Terraform only grants and revokes rights on them."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.datasets : can(regex("^[A-Za-z0-9_]+$", name)) && length(name) <= 1024])
    error_message = "datasets must be names of letters, digits and underscores, 1,024 at most, without their project."
  }
  validation {
    condition     = length(distinct(var.datasets)) == length(var.datasets)
    error_message = "datasets contains a dataset twice: name each one once."
  }
}

variable "version_patterns" {
  description = "How versioned tables are named in single datasets: a regular expression with the groups base and version, or `labels`, by dataset; default: version_pattern of onefold.yaml."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for pattern in values(var.version_patterns) : can(regexall(pattern, ""))])
    error_message = "version_patterns must be regular expressions (RE2)."
  }
  validation {
    condition = alltrue([
      for pattern in values(var.version_patterns) : pattern == "labels" || strcontains(pattern, "(?P<base>") && strcontains(pattern, "(?P<version>") && !strcontains(pattern, "/")
    ])
    error_message = "version_patterns must be `labels`, or contain the groups (?P<base>...) and (?P<version>...), and no slash."
  }
  validation {
    condition     = alltrue([for name in keys(var.version_patterns) : contains(var.datasets, name)])
    error_message = "version_patterns names a dataset that is not among `datasets`."
  }
}

variable "plain_table_datasets" {
  description = "Datasets of plain change tables, which Datastream or another tool fills. They must exist; Onefold only reads them, and Terraform makes a dataset for each, `plain_dataset`, which has their current views and bases. Those of `streams` are served without being named here."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for name in var.plain_table_datasets : can(regex("^[A-Za-z0-9_]+$", name)) && length(name) <= 1000])
    error_message = "plain_table_datasets must be names of letters, digits and underscores, 1,000 at most, without their project."
  }
  validation {
    condition     = length(distinct(concat(var.datasets, var.plain_table_datasets))) == length(var.datasets) + length(var.plain_table_datasets)
    error_message = "plain_table_datasets contains a dataset twice, or one of `datasets`, which Onefold writes: name each one once."
  }
}

variable "plain_dataset" {
  description = "The dataset of the current views, bases and logs of merges of plain change tables; must contain {dataset}. {dataset} alone keeps them beside the tables of `datasets`. Default: {dataset}__onefold."
  type        = string
  default     = null

  validation {
    condition     = var.plain_dataset == null || try(strcontains(var.plain_dataset, "{dataset}"), false) && can(regex("^[A-Za-z0-9_]{1,1000}$", replace(var.plain_dataset, "{dataset}", "dataset")))
    error_message = "plain_dataset must be the name of a dataset with {dataset}, in whose place the dataset of the table is put."
  }
  validation {
    condition     = var.plain_dataset != "{dataset}" || length(var.plain_table_datasets) + length(var.streams) == 0
    error_message = "plain_dataset must name another dataset than that of the tables: Onefold only reads the datasets of streams and of plain_table_datasets."
  }
  validation {
    condition     = contains(["{dataset}", var.plain_dataset], var.view_dataset) || length(var.plain_table_datasets) + length(var.streams) == 0
    error_message = "plain_dataset has the views of streams and of plain_table_datasets, so view_dataset must be {dataset} or the same: give them a deployment of their own, with a prefix."
  }
}

variable "column_readers" {
  description = "A daily job that finds out who reads each column, from views, scheduled queries and the log of jobs; it keeps kinds and numbers. `schedule` in the five fields of cron. Default: none, since its account may see the texts of all queries of the project."
  type        = any
  default     = null

  validation {
    condition     = try(var.column_readers.schedule, null) == null || can(regex(local.cron, var.column_readers.schedule))
    error_message = "column_readers: schedule must have the five fields of cron with possible values, as in 15 3 * * *."
  }
  validation {
    condition     = var.column_readers == null || (var.changes_dataset != null && var.capture_image != null)
    error_message = "column_readers needs changes_dataset, where its table is, and capture_image, which has its code: docs/how-to/deploy.md."
  }
}

variable "notify_schedule" {
  description = "When the owners of onefold.yaml are notified of changes (cron), such as */10 * * * *; null for nobody. docs/how-to/notify-owners-of-changes.md."
  type        = string
  default     = null

  validation {
    condition     = var.notify_schedule == null || can(regex(local.cron, var.notify_schedule))
    error_message = "notify_schedule must have the five fields of cron with possible values, as in */10 * * * *."
  }
  validation {
    condition     = var.notify_schedule == null || length(local.notify_problems) == 0
    error_message = "notify_schedule: ${join("\nnotify_schedule: ", local.notify_problems)}"
  }
}

variable "changes_dataset" {
  description = "The dataset of the ledger of changes, which Terraform makes: each change of a schema or setting is appended to it. Default: none, no change is recorded."
  type        = string
  default     = null

  validation {
    condition     = var.changes_dataset == null || can(regex("^[A-Za-z0-9_]{1,1000}$", var.changes_dataset))
    error_message = "changes_dataset must be a name of letters, digits and underscores, 1,000 at most, without its project."
  }
  validation {
    condition     = var.changes_dataset == null || !contains(local.named_datasets, coalesce(var.changes_dataset, "-"))
    error_message = "changes_dataset must be a dataset of its own: whoever may write into a dataset of tables may rewrite its tables."
  }
}

variable "view_dataset" {
  description = "The dataset of the views; may contain {dataset}. It must exist."
  type        = string
  default     = "{dataset}"

  validation {
    condition     = can(regex("^[A-Za-z0-9_]{1,1000}$", replace(var.view_dataset, "{dataset}", "dataset")))
    error_message = "view_dataset must be the name of a dataset, in which {dataset} is replaced by the dataset of the table."
  }
}

variable "view_name" {
  description = "The name of a view; must contain {table}, may contain {dataset}."
  type        = string
  default     = "{table}_unified"

  validation {
    condition = (
      strcontains(var.view_name, "{table}") && var.view_name != "{table}" &&
      can(regex("^[A-Za-z0-9_-]{1,1000}$", replace(replace(var.view_name, "{table}", "table"), "{dataset}", "dataset")))
    )
    error_message = "view_name must contain {table} and more text, as in {table}_unified; the only other placeholder is {dataset}."
  }
  validation {
    condition     = !startswith(var.view_name, "onefold_tmp_") && !startswith(var.view_name, "onefold_leaf_")
    error_message = "view_name must not begin with onefold_tmp_ or onefold_leaf_: the deployed accounts may delete tables with these prefixes."
  }
  validation {
    condition = alltrue([
      for pattern in local.known_patterns :
      !can(regex("^(?:${pattern})$", replace(replace(var.view_name, "{table}", "table"), "{dataset}", "dataset")))
    ])
    error_message = "view_name must not match names of versioned tables, as {table}_v_1 does: choose another ending."
  }
  validation {
    condition     = length(var.datasets) == 1 || strcontains("${var.view_dataset}${var.view_name}", "{dataset}")
    error_message = "view_dataset or view_name must contain {dataset}: otherwise tables of two datasets would share one view."
  }
}

variable "clean_views" {
  description = "The datasets of `datasets` that have clean views. Terraform creates DATASET__views_clean and DATASET__keys for each, and authorizes them."
  type        = list(string)
  default     = []

  validation {
    condition     = length(setsubtract(var.clean_views, local.named_datasets)) == 0
    error_message = "clean_views names a dataset that is neither in `datasets` nor in `plain_table_datasets`, and of no stream: add it there."
  }
}

variable "restore_policy_tags" {
  description = "Whether refresh_view may set policy tags in datasets of views. If not, a view whose columns have policy tags is not written."
  type        = bool
  default     = false
}

variable "prefix" {
  description = "A prefix of every name, such as `eu-`, for several deployments in one project."
  type        = string
  default     = ""

  validation {
    # The id of a service account has at most 30 characters, and the longest one without prefix has 25.
    condition     = can(regex("^([a-z][a-z0-9]{0,3}-)?$", var.prefix))
    error_message = "prefix must be empty, or up to four letters and digits and a hyphen, such as eu-."
  }
  validation {
    condition     = !startswith(var.prefix, "goog")
    error_message = "prefix must not be goog-: Pub/Sub reserves names of topics that begin with goog."
  }
}

variable "labels" {
  description = "Labels of all resources that can have labels, batches included."
  type        = map(string)
  default     = {}

  validation {
    condition = alltrue([
      for key, value in var.labels :
      can(regex("^[a-z][a-z0-9_-]{0,62}$", key)) && can(regex("^[a-z0-9_-]{0,63}$", value))
    ])
    error_message = "labels must consist of lower-case letters, digits, _ and -, with at most 63 characters each."
  }
  validation {
    condition     = length(var.labels) <= 27 && alltrue([for key, value in var.labels : !startswith(key, "onefold_")])
    error_message = "labels must be at most 27, since a batch has at most 32 with those of Onefold, and none may begin with onefold_, as those do."
  }
}

variable "package_folder" {
  description = "The folder of what `make package` makes and downloads; default: build, next to this folder."
  type        = string
  default     = null
}

variable "settings_folder" {
  description = "The folder of onefold.yaml and of its checked form, onefold.checked.json; default: the checkout. Without onefold.yaml, all settings of tables have their defaults."
  type        = string
  default     = null

  # Terraform reads YAML otherwise than the library, and settings that it cannot read would be none: capture without its rules.
  validation {
    condition = (
      fileexists("${coalesce(var.settings_folder, "${path.module}/..")}/onefold.yaml")
      ? try(jsondecode(file("${coalesce(var.settings_folder, "${path.module}/..")}/onefold.checked.json")).yaml_sha256, "") == filesha256("${coalesce(var.settings_folder, "${path.module}/..")}/onefold.yaml")
      # A link that leads nowhere is an error of fileset, and no absent file.
      : try(length(fileset(coalesce(var.settings_folder, "${path.module}/.."), "{onefold.yaml,onefold.checked.json}")) == 0, false)
    )
    error_message = "onefold.checked.json must be the checked form of onefold.yaml: run `make package`, or `onefold settings check --write`, and commit the file; where there is no onefold.yaml, remove it."
  }
}

variable "captures" {
  description = "The captured databases by a short name: each gets an account with rights, and a worker pool of Cloud Run. docs/how-to/deploy-capture.md describes every field."
  type        = any
  default     = {}
  nullable    = false
}

variable "writers" {
  description = "Service accounts that write into datasets of tables themselves, by dataset: each gets WRITER on that dataset alone."
  type        = map(list(string))
  default     = {}
  nullable    = false

  validation {
    condition     = alltrue([for name in keys(var.writers) : contains(var.datasets, name)])
    error_message = "writers names a dataset that is not among `datasets`."
  }
  validation {
    condition = alltrue([
      for email in flatten(values(var.writers)) : can(regex("^[a-z0-9._-]+@[a-z0-9.-]+\\.gserviceaccount\\.com$", email))
    ])
    error_message = "writers must be e-mails of service accounts, such as events@my-project.iam.gserviceaccount.com: people write through a group."
  }
  validation {
    condition     = length(distinct(flatten(values(var.writers)))) == length(flatten(values(var.writers)))
    error_message = "writers names an account twice: each has an own account, and writes into one dataset alone."
  }
  validation {
    condition = length(setintersection(keys(var.writers), [
      for name in var.datasets : replace(var.view_dataset, "{dataset}", name) if replace(var.view_dataset, "{dataset}", name) != name
    ])) == 0
    error_message = "writers names a dataset of views: whoever writes there can write a view that reads every dataset that trusts it."
  }
}

variable "access_trigger" {
  description = "The trigger of Cloud Build that applies access.yaml: a repository that Cloud Build is connected to, and the bucket of Terraform's state; default: none."
  type        = any
  default     = null

  validation {
    condition     = var.access_trigger == null || can(regex("^projects/[a-z0-9:.-]+/locations/${var.region}/connections/[A-Za-z0-9_-]+/repositories/[A-Za-z0-9._-]+$", var.access_trigger.repository))
    error_message = "access_trigger.repository must be projects/P/locations/REGION/connections/C/repositories/N, in the region of this deployment."
  }
  validation {
    condition     = var.access_trigger == null || can(regex("^[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]$", var.access_trigger.state_bucket))
    error_message = "access_trigger.state_bucket must be the name of a bucket, without gs://."
  }
  validation {
    condition = (
      (try(var.access_trigger.branch, null) == null || can(regex("^[A-Za-z0-9][A-Za-z0-9/_-]*$", var.access_trigger.branch))) &&
      (try(var.access_trigger.file, null) == null || can(regex("^[A-Za-z0-9][A-Za-z0-9/._-]*$", var.access_trigger.file)))
    )
    error_message = "access_trigger.branch must be the name of one branch, and access_trigger.file a path in the repository."
  }
}

variable "pulls" {
  description = "The pulled sources by their name in onefold.yaml: the databases that are pulled, and the id of the secret with the password. The dataset of each database, SOURCE_DATABASE, must be among `datasets`. `parallel`: how many tables a batch pulls at the same time, 4 by default; `gzip`: compress their files; `databases_per_batch`: how many databases a batch pulls, 100 by default; `stream_below`: files of at most so many bytes are appended by the Storage Write API, 0 (the default) for load jobs alone."
  type        = any
  default     = {}
  nullable    = false
}

variable "streams" {
  description = "Streams of Datastream in append-only mode, by a name of their own: `source` is mysql, postgresql or oracle; `secret` is the id of the secret with the password; `database` is the database of postgresql or the service of oracle; `schemas` has for each schema (of mysql: database) its tables, none for all of them. Terraform makes a dataset for each schema, `dataset_prefix` and its name, and one beside it. Tables that are named are partitioned by the time at which rows come. `backfill`: copy the rows that are there; `running`: false pauses the stream."
  type        = any
  default     = {}
  nullable    = false
}

variable "stream_network" {
  description = "How streams reach their sources without public addresses: the network, and a range of 29 bits that nothing else in it uses; default: by public addresses."
  type = object({
    network = string # projects/P/global/networks/N
    range   = string # 10.10.0.0/29
  })
  default = null

  validation {
    condition     = var.stream_network == null || can(regex("^projects/[a-z0-9.:-]+/global/networks/[a-z][a-z0-9-]*$", var.stream_network.network))
    error_message = "stream_network.network must be projects/P/global/networks/N."
  }
  validation {
    condition     = var.stream_network == null || try(endswith(var.stream_network.range, "/29") && cidrhost(var.stream_network.range, 0) == split("/", var.stream_network.range)[0], false)
    error_message = "stream_network.range must be a range of 29 bits, such as 10.10.0.0/29."
  }
}

variable "shreds" {
  description = "Folders of events that are shredded, by a name of their own: `events` are folders or patterns, `output` is the folder of the runs, `warehouse` is bigquery or redshift, `format` parquet, or for Redshift csv (the default) or parquet, `input` self-describing, enriched-tsv or enriched-json. `registries`: the folders of registries, or a resolver's file, in the order in which they are asked; `registry`: one alone, that of `schema_registry` by default; `unknown`: what becomes of an entity whose schema is unknown, bad_event (the default), bad_entity or keep_json; `layout`: tables (the default), or wide for wide columns of events; `duplicates_window`: the days in which each event is taken once, 0 (the default) for all events; `bad_percent`: the share of bad events that is an alarm; `schedule`: when (cron), every hour by default."
  type        = any
  default     = {}
  nullable    = false
}

variable "pull_schedule" {
  description = "When pulled tables are pulled (cron)."
  type        = string
  default     = "*/15 * * * *"

  validation {
    condition     = can(regex(local.cron, var.pull_schedule))
    error_message = "pull_schedule must have the five fields of cron with possible values, as in */15 * * * *."
  }
}

variable "daily_pull_schedule" {
  description = "When the prior day of pulled tables is loaded again (cron)."
  type        = string
  default     = "0 4 * * *"

  validation {
    condition     = can(regex(local.cron, var.daily_pull_schedule))
    error_message = "daily_pull_schedule must have the five fields of cron with possible values, as in 0 4 * * *."
  }
}

variable "check_schedule" {
  description = "When pulled tables are checked against their source (cron), such as 0 */2 * * *; null for no checks."
  type        = string
  default     = null

  validation {
    condition     = var.check_schedule == null || can(regex(local.cron, var.check_schedule))
    error_message = "check_schedule must have the five fields of cron with possible values, as in 0 */2 * * *."
  }
}

variable "pages_schedule" {
  description = "When the pages of all datasets are written into a private bucket (cron), such as 0 6 * * *; null for no pages."
  type        = string
  default     = null

  validation {
    condition     = var.pages_schedule == null || can(regex(local.cron, var.pages_schedule))
    error_message = "pages_schedule must have the five fields of cron with possible values, as in 0 6 * * *."
  }
}

variable "pages_readers" {
  description = "Who may read the pages of datasets, such as group:data@example.com. A page has the names of all columns, and no value."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for member in var.pages_readers : can(regex("^(?:user|group|serviceAccount|domain):[^\\s:]+$", member))])
    error_message = "pages_readers must be members such as group:data@example.com; allUsers is refused, because the bucket is private."
  }
}

variable "pulled_files_days" {
  description = "Days after which files of pulled rows are deleted."
  type        = number
  default     = 30

  validation {
    condition     = var.pulled_files_days >= 2 && floor(var.pulled_files_days) == var.pulled_files_days
    error_message = "pulled_files_days must be a whole number of days, at least 2: a first pull is resumed on its day."
  }
}

variable "late_pull_minutes" {
  description = "If no table of a pulled dataset is pulled for so many minutes, an incident is opened."
  type        = number
  default     = 60

  validation {
    condition     = var.late_pull_minutes >= 10 && floor(var.late_pull_minutes) == var.late_pull_minutes
    error_message = "late_pull_minutes must be a whole number, at least 10."
  }
}

variable "capture_image" {
  description = "The image of capture by its digest, as REGION-docker.pkg.dev/P/onefold-capture/capture@sha256:...; `make image` and Cloud Build set it."
  type        = string
  default     = null

  validation {
    condition     = var.capture_image == null || can(regex("^[a-z0-9.-]+(?::[0-9]+)?(?:/[a-z0-9._-]+)+@sha256:[0-9a-f]{64}$", var.capture_image))
    error_message = "capture_image must be an image by its digest, HOST/PATH@sha256: and 64 digits; a tag may point to another image tomorrow."
  }
}

variable "capture_lag_seconds" {
  description = "A capture that is more seconds behind its source than this opens an incident."
  type        = number
  default     = 900

  validation {
    condition     = var.capture_lag_seconds >= 60 && floor(var.capture_lag_seconds) == var.capture_lag_seconds
    error_message = "capture_lag_seconds must be a whole number, at least 60."
  }
}

variable "sink_instances" {
  description = "The most instances of the sink. Each handles four messages at once, some 25 a second: take twice what captures / flush_seconds / 25 says, or twice the rows a second / 3,000 if that is more. docs/explanation/how-rows-land.md has the arithmetic."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.sink_instances >= 1 && var.sink_instances <= 1000 && floor(var.sink_instances) == var.sink_instances
    error_message = "sink_instances must be a whole number from 1 to 1000."
  }
}

variable "adopt_capture_bucket" {
  description = "Whether to adopt the bucket of capture that an earlier deployment left; `make deploy` sets it."
  type        = bool
  default     = false
}

variable "schema_registry" {
  description = "The schema registry; null: none. `keys` is the id of a secret of the project with the file of keys, `public` are vendors whose schemas everybody may read, `callers` are members that may call the function, such as allUsers. docs/how-to/run-a-schema-registry.md describes every field."
  type        = any
  default     = null

  validation {
    condition     = try(var.schema_registry.keys, null) == null || can(regex("^[A-Za-z0-9_-]{1,255}$", var.schema_registry.keys))
    error_message = "schema_registry.keys must be the id of a secret of the project."
  }
  validation {
    condition     = alltrue(try([for vendor in var.schema_registry.public : can(regex("^(?:\\*|[A-Za-z0-9_-]+(?:\\.[A-Za-z0-9_-]+)*)$", vendor))], []))
    error_message = "schema_registry.public must be prefixes of vendors, such as com.acme, or *."
  }
  validation {
    condition     = try(var.schema_registry.order, null) == null || try(contains(["by-addition", "sequential"], var.schema_registry.order), false)
    error_message = "schema_registry.order must be by-addition or sequential."
  }
  validation {
    condition     = length(try(setsubtract(var.schema_registry.warehouses, ["bigquery", "redshift"]), [])) == 0
    error_message = "schema_registry.warehouses must be bigquery, redshift, or both."
  }
}

variable "events" {
  description = "Tables of events; null: none. `dataset` is one of `datasets`, which load_shredded creates tables in, and `runs` the folder of the runs of the shredder, gs://BUCKET/FOLDER, in an existing bucket in the location of the dataset. docs/reference/loader.md describes both."
  type = object({
    dataset = string
    runs    = string
  })
  default = null

  validation {
    condition     = contains(var.datasets, try(var.events.dataset, try(var.datasets[0], ""))) || var.events == null
    error_message = "events.dataset must be one of datasets, so that views of its tables are kept."
  }
  validation {
    condition     = can(regex("^gs://[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](?:/[A-Za-z0-9_.-]+)*/?$", try(var.events.runs, "gs://none")))
    error_message = "events.runs must be gs://BUCKET or gs://BUCKET/FOLDER."
  }
}

variable "schema_registry_ingress" {
  description = "From where the function schema_registry can be reached: ALLOW_INTERNAL_ONLY, ALLOW_INTERNAL_AND_GCLB or ALLOW_ALL."
  type        = string
  default     = "ALLOW_INTERNAL_ONLY"

  validation {
    condition     = contains(["ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB", "ALLOW_ALL"], var.schema_registry_ingress)
    error_message = "schema_registry_ingress must be ALLOW_INTERNAL_ONLY, ALLOW_INTERNAL_AND_GCLB or ALLOW_ALL."
  }
}

variable "adopt_registry_bucket" {
  description = "Whether to adopt the bucket of the schema registry that an earlier deployment left; `make deploy` sets it."
  type        = bool
  default     = false
}

variable "enable_apis" {
  description = "Whether to enable Google's APIs; false if somebody else enables them."
  type        = bool
  default     = true
}

variable "build_wait_seconds" {
  description = "Seconds between new rights of the build account and the first build."
  type        = number
  default     = 120

  validation {
    condition     = var.build_wait_seconds >= 0 && var.build_wait_seconds <= 600 && floor(var.build_wait_seconds) == var.build_wait_seconds
    error_message = "build_wait_seconds must be a whole number from 0 to 600."
  }
}

variable "service_accounts" {
  description = "E-mails of existing accounts by purpose; accounts that are not named here are created."
  type        = map(string)
  default     = {}

  validation {
    condition = length(setsubtract(keys(var.service_accounts), [
      "refresh_view", "launch_batch", "sink_records", "push_refresh_view", "push_launch_batch", "push_sink_records",
      "load_shredded", "push_load_shredded", "write_pages", "push_write_pages", "batch", "build", "schema_registry",
    ])) == 0
    error_message = "service_accounts may have the keys refresh_view, launch_batch, sink_records, load_shredded, write_pages, each of them with the prefix push_, batch, build and schema_registry. Name the account of a source in captures."
  }
  validation {
    condition     = alltrue([for email in var.service_accounts : can(regex("^[a-z0-9-]+@${var.project}\\.iam\\.gserviceaccount\\.com$", email))])
    error_message = "service_accounts must be e-mails of accounts of the project, such as name@my-project.iam.gserviceaccount.com."
  }
  validation {
    condition     = length(distinct(values(var.service_accounts))) == length(var.service_accounts)
    error_message = "service_accounts must differ: an account with two purposes would have more rights than each needs."
  }
}

variable "kms_key" {
  description = "A key of Cloud KMS, in `region`, for topics, buckets, images, functions and batches' disks; default: Google's own keys."
  type        = string
  default     = null

  validation {
    condition     = var.kms_key == null || can(regex("^projects/[a-z0-9:-]+(?:\\.[a-z0-9:-]+)*/locations/${var.region}/keyRings/[A-Za-z0-9_-]{1,63}/cryptoKeys/[A-Za-z0-9_-]{1,63}$", var.kms_key))
    error_message = "kms_key must be projects/P/locations/REGION/keyRings/R/cryptoKeys/K, in the region of this deployment."
  }
}

variable "vpc_connector" {
  description = "A Serverless VPC Access connector for the functions' calls to private addresses; default: none."
  type        = string
  default     = null

  validation {
    condition     = var.vpc_connector == null || can(regex("^projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/connectors/[a-z][a-z0-9-]*$", var.vpc_connector))
    error_message = "vpc_connector must be projects/P/locations/REGION/connectors/C."
  }
}

variable "subnetwork" {
  description = "The subnetwork of batches, with private Google access and ingress from itself; default: a new one. In another project, the agent of Dataproc must be a Compute Network User there."
  type        = string
  default     = null

  validation {
    condition     = var.subnetwork == null || can(regex("^projects/[a-z0-9:-]+(?:\\.[a-z0-9:-]+)*/regions/${var.region}/subnetworks/[a-z][a-z0-9-]*$", var.subnetwork))
    error_message = "subnetwork must be projects/P/regions/REGION/subnetworks/S, in the region of this deployment."
  }
}

variable "subnetwork_range" {
  description = "The addresses of the new subnetwork, if `subnetwork` is not set."
  type        = string
  default     = "10.97.0.0/20"

  validation {
    condition     = can(cidrhost(var.subnetwork_range, 0)) && try(tonumber(split("/", var.subnetwork_range)[1]) <= 24, false)
    error_message = "subnetwork_range must be a range such as 10.97.0.0/20, /24 or wider: every executor needs an address."
  }
}

variable "batch_runtime_version" {
  description = "The runtime of batches on Dataproc Serverless."
  type        = string
  default     = "3.0"

  validation {
    condition     = can(regex("^[3-9]\\.[0-9]+$", var.batch_runtime_version))
    error_message = "batch_runtime_version must be 3.0 or later: the jobs are written for Spark 4."
  }
}

variable "batch_ttl" {
  description = "The time after which a running batch is cancelled, such as 90m, 4h or 2d."
  type        = string
  default     = "4h"

  validation {
    condition     = can(regex("^[1-9][0-9]{0,3}[mhd]$", var.batch_ttl))
    error_message = "batch_ttl must be a time such as 90m, 4h or 2d."
  }
  validation {
    condition = try(
      alltrue([for number in [tonumber(trim(var.batch_ttl, "mhd"))] :
        10 <= number * local.minutes_of[substr(var.batch_ttl, -1, 1)] && number * local.minutes_of[substr(var.batch_ttl, -1, 1)] <= 14 * 24 * 60
      ]),
      false,
    )
    error_message = "batch_ttl must be between 10m and 14d, the limits of Dataproc."
  }
}

variable "batch_properties" {
  description = "Spark properties of batches, such as { \"spark.executor.cores\" = \"8\" }."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.batch_properties) : can(regex("^(spark|dataproc)\\.[A-Za-z0-9_.-]+$", name))])
    error_message = "batch_properties must be named spark.… or dataproc.…"
  }
  validation {
    condition     = alltrue([for value in values(var.batch_properties) : can(regex("^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]*$", value))])
    error_message = "batch_properties: each value must be one line of text, without control characters."
  }
}

variable "batch_folders" {
  description = "gs:// folders that batches may read and write, in addition to the staging bucket."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.batch_folders : can(regex("^gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[A-Za-z0-9_.=+@~-]+)*/?$", name)) && !strcontains(name, "..")])
    error_message = "batch_folders must be folders such as gs://bucket/folder, without `..`."
  }
  validation {
    # A condition of IAM has at most twelve operators, and each level needs one.
    condition     = alltrue([for name in var.batch_folders : length(split("/", trimsuffix(name, "/"))) <= 13])
    error_message = "batch_folders must be at most ten levels deep: a right on a folder names each level."
  }
}

variable "staging_days" {
  description = "Days after which temporary files of batches are deleted."
  type        = number
  default     = 7

  validation {
    condition     = var.staging_days >= 1 && floor(var.staging_days) == var.staging_days
    error_message = "staging_days must be a whole number of days, at least 1: a batch needs its files while it runs."
  }
}

variable "large_records_days" {
  description = "Days after which captured rows that were too large for a message are deleted from their bucket."
  type        = number
  default     = 30

  validation {
    # A message waits for 7 days, and then as a dead letter for 7 more.
    condition     = var.large_records_days >= 15 && floor(var.large_records_days) == var.large_records_days
    error_message = "large_records_days must be a whole number of days, at least 15: messages refer to them for 14."
  }
}

variable "time_zone" {
  description = "The time zone of the schedules, such as Europe/Berlin."
  type        = string
  default     = "Etc/UTC"

  validation {
    condition     = can(regex("^[A-Za-z]+(/[A-Za-z0-9_+-]+)+$", var.time_zone))
    error_message = "time_zone must be a name such as Europe/Berlin or Etc/UTC."
  }
}

variable "refresh_schedule" {
  description = "When all views of all datasets are checked (cron); null: never."
  type        = string
  default     = "17 3 * * *"

  validation {
    condition     = var.refresh_schedule == null || can(regex(local.cron, var.refresh_schedule))
    error_message = "refresh_schedule must have the five fields of cron with possible values, as in 17 3 * * *."
  }
}

variable "merge_schedule" {
  description = "When all tables of all datasets that have new rows are merged into their bases (cron), by one batch for each dataset; null: never."
  type        = string
  default     = null

  validation {
    condition     = var.merge_schedule == null || can(regex(local.cron, var.merge_schedule))
    error_message = "merge_schedule must have the five fields of cron with possible values, as in 30 * * * *."
  }
}

variable "merge_parallel" {
  description = "How many tables of a dataset a batch of `merge_schedule` merges at the same time, 4 by default. More need more memory of the driver."
  type        = number
  default     = null

  validation {
    condition     = var.merge_parallel == null || try(var.merge_parallel >= 1 && var.merge_parallel <= 64 && floor(var.merge_parallel) == var.merge_parallel, false)
    error_message = "merge_parallel must be a whole number from 1 to 64."
  }
}

variable "merge_late_hours" {
  description = "A table with new rows whose last merge is more hours old than this opens an incident, when a batch of `merge_schedule` finds it; 48 by default. Above the time between two merges, and above `max_age_hours` of `merge_when` in onefold.yaml."
  type        = number
  default     = null

  validation {
    condition     = var.merge_late_hours == null || try(var.merge_late_hours >= 1 && var.merge_late_hours <= 8760 && floor(var.merge_late_hours) == var.merge_late_hours, false)
    error_message = "merge_late_hours must be a whole number from 1 to 8,760."
  }
}

variable "reconcile_schedules" {
  description = "Batches at fixed times: the table, the time (cron), and the arguments of the job, each a list of words."
  type        = any
  default     = []

  validation {
    condition     = alltrue([for request in var.reconcile_schedules : can(regex(local.cron, request.schedule))])
    error_message = "reconcile_schedules: each schedule must have the five fields of cron with possible values, as in 30 4 * * *."
  }
  validation {
    condition     = alltrue([for request in var.reconcile_schedules : contains(local.named_datasets, request.dataset)])
    error_message = "reconcile_schedules has a dataset that is not among `datasets` and `plain_table_datasets`, and of no stream: its batch would be refused."
  }
  validation {
    condition     = alltrue([for request in var.reconcile_schedules : try(request.job, null) == null || try(contains(["reconcile", "compare"], request.job), false)])
    error_message = "reconcile_schedules: job must be reconcile or compare."
  }
  validation {
    condition     = alltrue([for request in var.reconcile_schedules : can(regex("^[\\p{L}\\p{N}_-]+$", request.table))])
    error_message = "reconcile_schedules: table must be a base name, without dataset and version."
  }
  validation {
    condition     = length(distinct([for r in var.reconcile_schedules : "${coalesce(try(r.job, null), "reconcile")} ${r.dataset}.${r.table}"])) == length(var.reconcile_schedules)
    error_message = "reconcile_schedules has a table twice for the same job: keep one of them."
  }
}

variable "alert_email" {
  description = "The address that gets alerts; default: none, incidents are only in the console."
  type        = string
  default     = null

  validation {
    condition     = var.alert_email == null || can(regex("^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", var.alert_email))
    error_message = "alert_email must be an e-mail address."
  }
}

# Values that validations use.
locals {
  # `*`, a value or a range, each with a step; several separated by commas. Cloud Scheduler would refuse the job only after all
  # other resources are created.
  cron_values = {
    minute  = "[0-5]?[0-9]"
    hour    = "(?:[01]?[0-9]|2[0-3])"
    day     = "(?:0?[1-9]|[12][0-9]|3[01])"
    month   = "(?:0?[1-9]|1[0-2]|(?i:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    weekday = "(?:[0-7]|(?i:mon|tue|wed|thu|fri|sat|sun))"
  }
  cron_fields = { for name, value in local.cron_values : name => "(?:\\*|${value}(?:-${value})?)(?:/[1-9][0-9]?)?" }
  cron_lists  = { for name, field in local.cron_fields : name => "${field}(?:,${field})*" }
  cron        = "^${join(" +", [for name in ["minute", "hour", "day", "month", "weekday"] : local.cron_lists[name]])}$"

  minutes_of = { m = 1, h = 60, d = 1440 }
}
