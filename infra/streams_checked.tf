# A plan refuses what Datastream or BigQuery would refuse at creation, and reports all entries at once.
# The error belongs to the output `streams`, since the validation of a variable cannot use computed values.
locals {
  stream_datasets = flatten([
    for stream in values(module.typed.streams) : [for schema in keys(stream.schemas) : "${stream.dataset_prefix}${schema}"]
  ])
  stream_faults = flatten([
    for name, stream in module.typed.streams : [
      for fault, wrong in {
        "its name must have 2 to 30 lower-case letters, digits and hyphens, begin with a letter, and not be onefold-bigquery" = !can(regex("^[a-z][a-z0-9-]{0,28}[a-z0-9]$", name)) || name == "onefold-bigquery"
        "source must be mysql, postgresql or oracle"                                                                          = !contains(["mysql", "postgresql", "oracle"], stream.source)
        "host must be a name or an address, without port"                                                                     = !can(regex("^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$|^[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*$", stream.host))
        "port must be a whole number from 1 to 65535"                                                                         = stream.port != null && try(floor(stream.port) != stream.port || stream.port < 1 || stream.port > 65535, false)
        "user must be one line of text"                                                                                       = !can(regex(local.capture_line, stream.user))
        "secret must be the id of a secret of the project, which holds the password"                                          = !can(regex("^[A-Za-z0-9_-]{1,255}$", stream.secret))
        "secret_version must be latest or a number"                                                                           = !can(regex("^(?:latest|[1-9][0-9]*)$", stream.secret_version))
        "database must name the database of postgresql, or the service of oracle"                                             = contains(["postgresql", "oracle"], stream.source) && !can(regex(local.capture_line, stream.database))
        "database is for postgresql and oracle: name the databases of mysql in schemas"                                       = stream.source == "mysql" && stream.database != null
        "publication and replication_slot must name those of postgresql"                                                      = stream.source == "postgresql" && (!can(regex(local.capture_line, stream.publication)) || !can(regex("^[a-z0-9_]{1,63}$", stream.replication_slot)))
        "publication and replication_slot are for postgresql"                                                                 = stream.source != "postgresql" && (stream.publication != null || stream.replication_slot != null)
        "schemas must name at least one"                                                                                      = length(stream.schemas) == 0
        "the datasets of schemas, dataset_prefix and schema, must be names of letters, digits and underscores"                = anytrue([for schema in keys(stream.schemas) : !can(regex("^[A-Za-z0-9_]{1,1000}$", "${stream.dataset_prefix}${schema}"))])
        "tables must be names, each once for a schema"                                                                        = anytrue([for tables in values(stream.schemas) : length(distinct(tables)) != length(tables) || anytrue([for table in tables : !can(regex(local.capture_line, table))])])
        "two streams or schemas would write one dataset: set dataset_prefix"                                                  = anytrue([for schema in keys(stream.schemas) : length([for dataset in local.stream_datasets : dataset if lower(dataset) == lower("${stream.dataset_prefix}${schema}")]) > 1])
        "a dataset of its schemas is among datasets or plain_table_datasets: set dataset_prefix"                              = anytrue([for schema in keys(stream.schemas) : contains(concat(tolist(local.all_datasets), var.plain_table_datasets), "${stream.dataset_prefix}${schema}")])
      } : "streams.${name}: ${fault}" if wrong
    ]
  ])
}

output "streams" {
  description = "The streams: for each dataset that one writes, that of its current views and bases."
  value = {
    for name, stream in local.streams : name => {
      stream   = google_datastream_stream.stream[name].id
      datasets = { for dataset, streamed in local.streamed : dataset => local.plain_datasets[dataset] if streamed.stream == name }
    }
  }

  precondition {
    condition     = length(local.stream_faults) == 0
    error_message = join("\n", local.stream_faults)
  }
}
