# The filter over the audit log's entries: which tables are told to refresh_view. It makes nothing, so that a test can plan it
# for ten thousand datasets.
variable "project" {
  description = "The project of the tables."
  type        = string
}

variable "version_patterns" {
  description = "The pattern of the names of versioned tables by dataset, or `labels`."
  type        = map(string)
}

variable "any_table_datasets" {
  description = "The datasets of which every table is told."
  type        = list(string)
}

locals {
  # "Quotas and limits" of Cloud Logging (https://cloud.google.com/logging/quotas, read 2026-11): "Length of a sink inclusion
  # filter: 20,000 characters", which cannot be increased.
  max_filter = 20000
  # A name of a group may be given once in an expression, so the groups lose theirs.
  datasets_by_pattern = {
    for dataset, pattern in var.version_patterns : replace(pattern, "/\\(\\?P<\\w+>/", "(") => dataset... if pattern != "labels"
  }
  labelled_datasets = [for dataset, pattern in var.version_patterns : dataset if pattern == "labels"]

  # Where the names of all datasets do not fit, a versioned table of any dataset of the project passes. refresh_view knows which
  # datasets it serves, and acknowledges an entry about another one.
  dataset_expressions = {
    listed = { for pattern, datasets in local.datasets_by_pattern : pattern => "(${join("|", datasets)})" }
    any    = { for pattern in keys(local.datasets_by_pattern) : pattern => "[^/]+" }
  }
  # Without datasets none is named: then nothing can be refreshed, and nothing is to be told.
  named_tables = {
    for scope, expressions in local.dataset_expressions : scope => join("|", concat(
      [for pattern, datasets in expressions : "${datasets}/tables/${pattern}"],
      # Any table there may be a plain change table. Nothing of ours is in these datasets, so that no refresh and no merge calls
      # the function again; rows that come are no such entry. So these datasets are always listed.
      [for dataset in var.any_table_datasets : "${dataset}/tables/[^/]+"],
    ))
  }
  of_named_tables = {
    for scope, tables in local.named_tables : scope =>
    "protoPayload.resourceName=~\"^projects/${var.project}/datasets/(${replace(replace(tables, "\\", "\\\\"), "\"", "\\\"")})$\""
  }

  # Where versions are found by labels, an entry has the labels of the table; that of a deletion has none.
  of_labelled_tables = join(" AND ", [
    "protoPayload.resourceName=~\"^projects/${var.project}/datasets/(${join("|", local.labelled_datasets)})/tables/[^/]+$\"",
    "(${join(" OR ", [
      "protoPayload.metadata.tableDeletion:*",
      "protoPayload.metadata.tableCreation.table.tableInfo.labels.onefold_base:*",
      "protoPayload.metadata.tableChange.table.tableInfo.labels.onefold_base:*",
    ])})",
  ])

  # An entry about a change has the schema of the table, or says that the schema was too long; an entry with neither is about
  # something else. Writes of rows are entries of another kind, tableDataChange.
  filters = {
    for scope, named in local.of_named_tables : scope => join(" AND ", [
      "protoPayload.metadata.\"@type\"=\"type.googleapis.com/google.cloud.audit.BigQueryAuditMetadata\"",
      "(${join(" OR ", [
        "protoPayload.metadata.tableCreation:*",
        "protoPayload.metadata.tableDeletion:*",
        "protoPayload.metadata.tableChange.table.schemaJson:*",
        "protoPayload.metadata.tableChange.table.schemaJsonTruncated=true",
      ])})",
      length(local.labelled_datasets) == 0 ? named : "(${named} OR (${local.of_labelled_tables}))",
    ])
  }
  filter = length(local.filters.listed) <= local.max_filter ? local.filters.listed : local.filters.any
}

output "filter" {
  description = "The filter of the sink."
  value       = local.filter

  precondition {
    condition     = length(local.filter) <= local.max_filter
    error_message = "The filter over the audit log would have ${length(local.filter)} characters, and Cloud Logging takes ${local.max_filter}: give some of the datasets of streams, of plain_table_datasets or of the pattern `labels` a deployment of their own (variable prefix)."
  }
}
