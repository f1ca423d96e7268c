# Streams of Datastream, for each entry of `streams`: what it reads, and how it gets there. Their datasets are in plain.tf.
locals {
  # If an entry is invalid, no stream is planned: the output `streams` reports the problems of all entries.
  streams = { for name, stream in module.typed.streams : name => stream if length(local.stream_faults) == 0 }
  streamed = merge([
    for name, stream in local.streams : {
      for schema, tables in stream.schemas : "${stream.dataset_prefix}${schema}" => { stream = name, schema = schema, tables = tables }
    }
  ]...)
  stream_ports = { mysql = 3306, postgresql = 5432, oracle = 1521 }
  # The version is named in the profile: Datastream reads the password from Secret Manager, and no state has it.
  stream_passwords = {
    for name, stream in local.streams :
    name => "projects/${var.project}/secrets/${data.google_secret_manager_secret.stream[name].secret_id}/versions/${stream.secret_version}"
  }
  # Tables whose rows are partitioned by the time at which they came, so that a merge reads only what is new.
  stream_partitions = {
    for name, stream in local.streams :
    name => flatten([for schema, tables in stream.schemas : [for table in tables : { schema = schema, table = table }]])
  }
  datastream_agent = "${local.agent}@gcp-sa-datastream.iam.gserviceaccount.com"
  stream_kms_agents = {
    datastream = local.datastream_agent
    bigquery   = "bq-${local.project_number}@bigquery-encryption.iam.gserviceaccount.com" # the rows that a stream writes
  }
}

# A person creates the secret and its versions, so that no password gets into Terraform and its state.
data "google_secret_manager_secret" "stream" {
  for_each = local.streams

  project   = var.project
  secret_id = each.value.secret
}

resource "google_secret_manager_secret_iam_member" "stream" {
  for_each = local.streams

  project   = var.project
  secret_id = data.google_secret_manager_secret.stream[each.key].secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = "serviceAccount:${local.datastream_agent}"

  depends_on = [google_project_service.api]
}

resource "google_datastream_private_connection" "streams" {
  count = var.stream_network == null || length(local.streams) == 0 ? 0 : 1

  private_connection_id = "${var.prefix}onefold"
  display_name          = "Onefold's streams"
  location              = var.region
  labels                = local.labels

  vpc_peering_config {
    vpc    = var.stream_network.network
    subnet = var.stream_network.range
  }

  depends_on = [google_project_service.api]
}

resource "google_datastream_connection_profile" "source" {
  for_each = local.streams

  connection_profile_id = "${var.prefix}${each.key}"
  display_name          = "Onefold: ${each.key}"
  location              = var.region
  labels                = local.labels

  dynamic "mysql_profile" {
    for_each = each.value.source == "mysql" ? [each.value] : []
    content {
      hostname                       = mysql_profile.value.host
      port                           = coalesce(mysql_profile.value.port, local.stream_ports.mysql)
      username                       = mysql_profile.value.user
      secret_manager_stored_password = local.stream_passwords[each.key]
    }
  }

  dynamic "postgresql_profile" {
    for_each = each.value.source == "postgresql" ? [each.value] : []
    content {
      hostname                       = postgresql_profile.value.host
      port                           = coalesce(postgresql_profile.value.port, local.stream_ports.postgresql)
      username                       = postgresql_profile.value.user
      database                       = postgresql_profile.value.database
      secret_manager_stored_password = local.stream_passwords[each.key]
    }
  }

  dynamic "oracle_profile" {
    for_each = each.value.source == "oracle" ? [each.value] : []
    content {
      hostname                       = oracle_profile.value.host
      port                           = coalesce(oracle_profile.value.port, local.stream_ports.oracle)
      username                       = oracle_profile.value.user
      database_service               = oracle_profile.value.database
      secret_manager_stored_password = local.stream_passwords[each.key]
    }
  }

  dynamic "private_connectivity" {
    for_each = google_datastream_private_connection.streams
    content {
      private_connection = private_connectivity.value.id
    }
  }

  # Datastream tries the connection when the profile is made.
  depends_on = [google_project_service.api, google_secret_manager_secret_iam_member.stream]
}

resource "google_datastream_connection_profile" "bigquery" {
  count = length(local.streams) == 0 ? 0 : 1

  connection_profile_id = "${var.prefix}onefold-bigquery"
  display_name          = "Onefold: BigQuery"
  location              = var.region
  labels                = local.labels

  bigquery_profile {}

  depends_on = [google_project_service.api]
}

resource "google_datastream_stream" "stream" {
  for_each = local.streams

  stream_id                       = "${var.prefix}${each.key}"
  display_name                    = "Onefold: ${each.key}"
  location                        = var.region
  labels                          = local.labels
  desired_state                   = each.value.running ? "RUNNING" : "PAUSED"
  customer_managed_encryption_key = var.kms_key

  source_config {
    source_connection_profile = google_datastream_connection_profile.source[each.key].id

    dynamic "mysql_source_config" {
      for_each = each.value.source == "mysql" ? [each.value] : []
      content {
        include_objects {
          dynamic "mysql_databases" {
            for_each = mysql_source_config.value.schemas
            content {
              database = mysql_databases.key
              dynamic "mysql_tables" {
                for_each = mysql_databases.value
                content { table = mysql_tables.value }
              }
            }
          }
        }
      }
    }

    dynamic "postgresql_source_config" {
      for_each = each.value.source == "postgresql" ? [each.value] : []
      content {
        publication      = postgresql_source_config.value.publication
        replication_slot = postgresql_source_config.value.replication_slot
        include_objects {
          dynamic "postgresql_schemas" {
            for_each = postgresql_source_config.value.schemas
            content {
              schema = postgresql_schemas.key
              dynamic "postgresql_tables" {
                for_each = postgresql_schemas.value
                content { table = postgresql_tables.value }
              }
            }
          }
        }
      }
    }

    dynamic "oracle_source_config" {
      for_each = each.value.source == "oracle" ? [each.value] : []
      content {
        include_objects {
          dynamic "oracle_schemas" {
            for_each = oracle_source_config.value.schemas
            content {
              schema = oracle_schemas.key
              dynamic "oracle_tables" {
                for_each = oracle_schemas.value
                content { table = oracle_tables.value }
              }
            }
          }
        }
      }
    }
  }

  destination_config {
    destination_connection_profile = google_datastream_connection_profile.bigquery[0].id

    bigquery_destination_config {
      # Every change is a row. The default, merge, keeps no history, and its tables take no statement that writes.
      append_only {}

      source_hierarchy_datasets {
        dataset_template {
          location          = local.location
          dataset_id_prefix = each.value.dataset_prefix
          kms_key_name      = var.kms_key
        }
      }
    }
  }

  # Datastream partitions only tables that it makes from then on.
  dynamic "rule_sets" {
    for_each = local.stream_partitions[each.key]
    content {
      object_filter {
        source_object_identifier {
          dynamic "mysql_identifier" {
            for_each = each.value.source == "mysql" ? [rule_sets.value] : []
            content {
              database = mysql_identifier.value.schema
              table    = mysql_identifier.value.table
            }
          }
          dynamic "postgresql_identifier" {
            for_each = each.value.source == "postgresql" ? [rule_sets.value] : []
            content {
              schema = postgresql_identifier.value.schema
              table  = postgresql_identifier.value.table
            }
          }
          dynamic "oracle_identifier" {
            for_each = each.value.source == "oracle" ? [rule_sets.value] : []
            content {
              schema = oracle_identifier.value.schema
              table  = oracle_identifier.value.table
            }
          }
        }
      }
      customization_rules {
        bigquery_partitioning {
          ingestion_time_partition {
            partitioning_time_granularity = "PARTITIONING_TIME_GRANULARITY_DAY"
          }
        }
      }
    }
  }

  dynamic "backfill_all" {
    for_each = each.value.backfill ? [true] : []
    content {}
  }
  dynamic "backfill_none" {
    for_each = each.value.backfill ? [] : [true]
    content {}
  }

  # Datastream would make a dataset that is missing, with access for everybody who may view the project.
  depends_on = [google_bigquery_dataset.streamed, google_kms_crypto_key_iam_member.agent]
}
