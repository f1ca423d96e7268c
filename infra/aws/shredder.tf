# The shredder: an application of EMR Serverless, the code of the job, and the schedule that starts it.
locals {
  code_files = {
    "shred.py"               = "${path.module}/../../spark_jobs/shred.py"
    "spark.zip"              = "${path.module}/../../build/spark.zip"
    "compiled_libraries.zip" = "${path.module}/../../build/compiled_libraries.zip"
  }

  # The call that starts a job (EMR Serverless, StartJobRun), with the members as EventBridge Scheduler spells them. A token that
  # each invocation has of its own makes the service start one job for it, however often the call is repeated.
  code_folder = "${local.code}/${local.code_version}"
  start_job = {
    ApplicationId           = local.application_id
    ClientToken             = "<aws.scheduler.execution-id>"
    ExecutionRoleArn        = local.roles.shredder
    ExecutionTimeoutMinutes = local.shred.minutes
    Name                    = local.names.shredder
    JobDriver = {
      SparkSubmit = {
        EntryPoint = "${local.code_folder}/shred.py"
        EntryPointArguments = concat(
          ["--events"], local.shred.events, ["--registry"], local.shred.registries,
          [
            "--output=${local.runs}", "--warehouse=redshift", "--format=${local.shred.format}", "--input=${local.shred.input}",
            "--unknown=${local.shred.unknown}", "--bad-percent=${local.shred.bad_percent}",
            "--duplicates-window=${local.shred.duplicates_window}",
          ],
        )
        SparkSubmitParameters = "--py-files ${local.code_folder}/spark.zip --conf spark.archives=${local.code_folder}/compiled_libraries.zip"
      }
    }
    ConfigurationOverrides = {
      MonitoringConfiguration = {
        CloudWatchLoggingConfiguration            = { Enabled = true, LogGroupName = local.logs.shredder, LogTypes = { SPARK_DRIVER = ["STDOUT", "STDERR"] } }
        ManagedPersistenceMonitoringConfiguration = { Enabled = false }
      }
    }
  }
  # Where a job runs, for whoever else starts one.
  emr = {
    ONEFOLD_EMR_APPLICATION = local.application_id
    ONEFOLD_EMR_ROLE        = local.roles.shredder
    ONEFOLD_EMR_CODE        = local.code_folder
    ONEFOLD_EMR_LOG         = local.logs.shredder
    ONEFOLD_EMR_MINUTES     = tostring(local.shred.minutes)
  }
  # Terraform writes < and > as escapes, in which the scheduler would not find its own names.
  start_job_input = replace(replace(jsonencode(local.start_job), "\\u003c", "<"), "\\u003e", ">")

  failed_jobs = {
    source      = ["aws.emr-serverless"]
    detail-type = ["EMR Serverless Job Run State Change"]
    detail      = { applicationId = [local.application_id], state = ["FAILED", "CANCELLED"] }
  }
}

resource "aws_emrserverless_application" "shredder" {
  count = local.automatic

  name          = local.names.shredder
  release_label = "emr-spark-8.0.0" # Spark 4.0, Python 3.11 to 3.13
  type          = "spark"
  architecture  = "X86_64" # as the libraries of compiled_libraries.zip

  # Bounds the costs of a minute; a job that wants more waits for its own executors.
  maximum_capacity {
    cpu    = "${local.shred.vcpus} vCPU"
    memory = "${local.shred.vcpus * 8} GB"
  }
  auto_start_configuration {
    enabled = true
  }
  auto_stop_configuration {
    enabled              = true
    idle_timeout_minutes = 1
  }
  # Two jobs at once would read the same files, and the later one would give way.
  scheduler_configuration {
    max_concurrent_runs   = 1
    queue_timeout_minutes = min(720, max(15, local.shred.minutes))
  }

  dynamic "network_configuration" {
    for_each = var.network == null ? [] : [var.network]
    content {
      subnet_ids         = network_configuration.value.subnets
      security_group_ids = network_configuration.value.security_groups
    }
  }
}

# One folder for each state of the code, so that a job never combines a script and an archive of different states.
resource "aws_s3_object" "code" {
  for_each = local.automatic == 0 ? {} : local.code_files

  bucket = aws_s3_bucket.events.id
  key    = "code/${local.code_version}/${each.key}"
  source = each.value

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.events]
}

# The folder of the runs, so that the loader finds it before the first run.
resource "aws_s3_object" "runs" {
  count = local.automatic

  bucket  = aws_s3_bucket.events.id
  key     = "${var.folder}/"
  content = ""

  depends_on = [aws_s3_bucket_server_side_encryption_configuration.events]
}

resource "aws_cloudwatch_log_group" "logs" {
  for_each = local.automatic == 0 ? {} : local.logs

  name              = each.value
  retention_in_days = 365
  kms_key_id        = local.key_arn
}

resource "aws_iam_role" "shredder" {
  count = local.automatic

  name               = local.names.shredder
  description        = "The job that shreds events."
  assume_role_policy = local.documents.job_trust
}

resource "aws_iam_role_policy_attachment" "shredder" {
  count = local.automatic

  role       = aws_iam_role.shredder[0].name
  policy_arn = aws_iam_policy.shredder.arn
}

resource "aws_iam_role_policy" "shredder" {
  count = local.automatic

  name   = "read-events"
  role   = aws_iam_role.shredder[0].id
  policy = local.documents.job
}

resource "aws_iam_role" "schedules" {
  count = local.automatic

  name               = local.names.schedules
  description        = "Starts the shredder, and wakes the loader."
  assume_role_policy = local.documents.schedules_trust
}

resource "aws_iam_role_policy" "schedules" {
  count = local.automatic

  name   = "start"
  role   = aws_iam_role.schedules[0].id
  policy = local.documents.schedules
}

resource "aws_scheduler_schedule" "shred" {
  count = local.automatic

  name                = local.names.shredder
  description         = "Shreds the new events."
  schedule_expression = local.shred.schedule
  kms_key_arn         = local.key_arn

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = "arn:${var.partition}:scheduler:::aws-sdk:emrserverless:startJobRun"
    role_arn = aws_iam_role.schedules[0].arn
    input    = local.start_job_input

    retry_policy {
      maximum_event_age_in_seconds = 3600
      maximum_retry_attempts       = 10
    }
    dead_letter_config {
      arn = aws_sqs_queue.queue["dead_jobs"].arn
    }
  }

  depends_on = [aws_s3_object.code, aws_iam_role_policy.schedules, aws_iam_role_policy.shredder]
}

# Jobs that failed or were cancelled, as after `minutes`, are kept with the dead letters of the schedule.
resource "aws_cloudwatch_event_rule" "failed_jobs" {
  count = local.automatic

  name          = local.names.rule
  description   = "Jobs of the shredder that failed."
  event_pattern = jsonencode(local.failed_jobs)
}

resource "aws_cloudwatch_event_target" "failed_jobs" {
  count = local.automatic

  rule = aws_cloudwatch_event_rule.failed_jobs[0].name
  arn  = aws_sqs_queue.queue["dead_jobs"].arn
}
