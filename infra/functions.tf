locals {
  package = coalesce(var.package_folder, "${path.module}/../build")

  functions = merge({
    # A refresh waits for BigQuery nearly all of its time, so one CPU serves as many as its server has threads, four.
    # Ten instances make forty at once. BigQuery takes 100 requests a second of one account for each method, and a refresh
    # that has nothing to write reads each of its views by tables.get, some 100 ms each: forty at once are at that bound, so
    # that more of them would only be refused and tried again. 30,000 tables take ten minutes then.
    # The clients take 90 MB. A refresh of 900 versions of 300 columns takes 20 MB more, and 40 where every column changed its
    # type: four of these at once peak at 254 MB (docs/benchmarks.md), and the server's own process takes some 40. So more
    # than 200 MB are left to larger views. A test holds memory and concurrency to what is measured.
    # Ten tries with pauses of up to eight seconds, each call bounded by 30 s, end well within five minutes.
    refresh_view = {
      listens     = "table-created"
      publishes   = ["table-created", "schema-changes", "dead-letter"]
      description = "Refreshes the unified view of a table when a version is added or removed."
      memory      = "512Mi"
      concurrency = 4
      instances   = 10
      timeout     = 300
    }
    # It makes three short calls for a message, and messages are few. Two instances are enough even when one restarts;
    # more would only ask Dataproc for more batches at once than its quota runs.
    launch_batch = {
      listens     = "batch-requests"
      publishes   = ["dead-letter"]
      description = "Creates a Dataproc Serverless batch for a request."
      memory      = "512Mi"
      concurrency = 4
      instances   = 2
      timeout     = 120
    }
    # A message of a source has the rows that came in its flush_seconds, of all tables, up to 400 KB. Its appends go by one
    # connection, all before the first answer, so that it takes little more than one append, some 100 ms: sink_instances has
    # the arithmetic. An instance has a connection for each message that it handles and each dataset, up to 25, and a region
    # has 5,000. A row of a large record is read whole, and takes some 150 MB while it is.
    sink_records = {
      listens     = "change-records"
      publishes   = ["change-records", "dead-letter"]
      description = "Appends captured rows to their versioned tables."
      memory      = "1Gi"
      concurrency = 4
      instances   = var.sink_instances
      timeout     = 120
    }
  }, local.event_functions, local.page_functions)

  environments = {
    refresh_view = merge(local.view_environment, {
      ONEFOLD_TOPIC_TABLE_CREATED  = google_pubsub_topic.topic["table-created"].name
      ONEFOLD_TOPIC_SCHEMA_CHANGES = google_pubsub_topic.topic["schema-changes"].name
      ONEFOLD_CHANGES_DATASET      = var.changes_dataset == null ? "" : google_bigquery_dataset.changes[0].dataset_id
    })
    launch_batch = merge(local.view_environment, local.batch_environment, local.pull_environment, {
      # The job announces and records schema changes of views, and reports differences by a log line, since an exit code other
      # than 0 would fail the batch.
      ONEFOLD_TOPIC_SCHEMA_CHANGES = google_pubsub_topic.topic["schema-changes"].name
      ONEFOLD_CHANGES_DATASET      = var.changes_dataset == null ? "" : google_bigquery_dataset.changes[0].dataset_id
      ONEFOLD_DIFFERENCES          = "log"
    })
    sink_records = {
      ONEFOLD_LARGE_RECORDS = local.large_records
      # Rows of a table that does not take them become a message of their own.
      ONEFOLD_TOPIC_CHANGE_RECORDS = google_pubsub_topic.topic["change-records"].name
    }
    load_shredded = local.event_environment
    write_pages   = local.page_environment
  }
  # The functions that messages call, and the schema registry, which answers requests over HTTP.
  called_functions = {
    for name, function in local.functions : name => merge(function, {
      # Pub/Sub of the same project counts as internal, and no other caller is needed.
      ingress     = "ALLOW_INTERNAL_ONLY"
      environment = merge(local.common_environment, local.environments[name])
      secrets     = {}
    })
  }
  deployed_functions = merge(local.called_functions, local.registry_function)
  # launch_batch passes project, datasets and names of views to the job, which updates views as well.
  view_environment = {
    # Also datasets that others write: what only appends rows does not serve them.
    ONEFOLD_DATASETS       = join(",", local.served_datasets)
    ONEFOLD_VIEW_DATASET   = var.view_dataset
    ONEFOLD_VIEW_NAME      = var.view_name
    ONEFOLD_PLAIN_DATASET  = var.plain_dataset == null ? "" : var.plain_dataset
    ONEFOLD_CLEAN_DATASETS = join(",", var.clean_views)
  }
  common_environment = {
    ONEFOLD_PROJECT           = var.project
    ONEFOLD_DATASETS          = join(",", var.datasets)
    ONEFOLD_TOPIC_DEAD_LETTER = google_pubsub_topic.topic["dead-letter"].name
  }
}

# The name contains a digest of the content: changed code is another object, which creates a new revision.
resource "google_storage_bucket_object" "functions" {
  name   = "functions/${filesha256("${local.package}/functions.zip")}.zip"
  bucket = module.buckets.names["artifacts"]
  source = "${local.package}/functions.zip"

  lifecycle {
    create_before_destroy = true
  }
}

resource "google_artifact_registry_repository" "images" {
  repository_id = "${var.prefix}onefold"
  location      = var.region
  format        = "DOCKER"
  description   = "Images of Onefold's functions, as Cloud Build makes them."
  kms_key_name  = var.kms_key

  cleanup_policy_dry_run = false
  cleanup_policies {
    id     = "keep-the-last"
    action = "KEEP"
    most_recent_versions {
      keep_count = 5
    }
  }
  cleanup_policies {
    id     = "delete-old-ones"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }

  depends_on = [google_project_service.api, google_kms_crypto_key_iam_member.agent]
}

# Rights of a new account take effect after one or two minutes; a build that starts earlier fails.
resource "terraform_data" "build_rights" {
  triggers_replace = [
    local.accounts["build"],
    [for grant in google_project_iam_member.build : grant.id],
    google_storage_bucket_iam_member.build.id,
    google_artifact_registry_repository_iam_member.build.id,
  ]

  provisioner "local-exec" {
    command = "sleep ${var.build_wait_seconds}"
  }
}

resource "google_cloudfunctions2_function" "function" {
  #checkov:skip=CKV_GCP_124:calls come from inside, but for those of the schema registry, where the user chooses
  for_each = local.deployed_functions

  name         = replace("${var.prefix}${each.key}", "_", "-")
  location     = var.region
  description  = each.value.description
  kms_key_name = var.kms_key

  build_config {
    runtime           = "python312"
    entry_point       = each.key
    service_account   = "projects/${var.project}/serviceAccounts/${local.accounts["build"]}"
    docker_repository = google_artifact_registry_repository.images.id

    # The build compiles the source, and then gives all files one date. Bytecode that knows its source by the date would be stale,
    # and each new instance would compile 200 modules. Where this is set, Python's compiler names the source by its hash
    # (https://docs.python.org/3/library/py_compile.html#py_compile.PycInvalidationMode).
    environment_variables = { SOURCE_DATE_EPOCH = "315532800" }

    source {
      storage_source {
        bucket = module.buckets.names["artifacts"]
        object = google_storage_bucket_object.functions.name
      }
    }
  }

  service_config {
    service_account_email            = local.accounts[each.key]
    available_memory                 = each.value.memory
    available_cpu                    = "1" # more than one request at a time needs a whole one
    max_instance_request_concurrency = each.value.concurrency
    max_instance_count               = each.value.instances
    min_instance_count               = 0 # idle costs nothing; a start takes seconds, which a message can wait
    timeout_seconds                  = each.value.timeout
    ingress_settings                 = each.value.ingress
    vpc_connector                    = var.vpc_connector
    vpc_connector_egress_settings    = var.vpc_connector == null ? null : "PRIVATE_RANGES_ONLY"
    environment_variables = {
      for name, value in each.value.environment : name => value
      # An empty value means no dataset; without the variable, all datasets of the project would be allowed, and nobody would
      # know which of them have clean views.
      if value != "" || contains(["ONEFOLD_DATASETS", "ONEFOLD_CLEAN_DATASETS"], name)
    }

    # Files and not variables: a new version of a secret is read at once, and a revoked key refused.
    dynamic "secret_volumes" {
      for_each = each.value.secrets
      content {
        mount_path = secret_volumes.key
        project_id = var.project
        secret     = secret_volumes.value.secret
        versions {
          version = "latest"
          path    = secret_volumes.value.file
        }
      }
    }
  }

  # The build starts at once, and fails without its rights; an instance does not start without its secret.
  depends_on = [
    google_project_service.api,
    google_project_iam_member.build,
    google_storage_bucket_iam_member.build,
    google_artifact_registry_repository_iam_member.build,
    google_kms_crypto_key_iam_member.agent,
    google_secret_manager_secret_iam_member.registry,
    module.buckets,
    terraform_data.build_rights,
  ]
}
