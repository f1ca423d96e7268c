# The loader: S3 sends a message for each finished run, a function loads, and what it cannot load is delivered again.
locals {
  receives = 5
  waits    = { runs = 900, dead_runs = 30, dead_jobs = 30, files = 720 }
  senders  = { runs = "runs_queue", dead_jobs = "dead_jobs_queue", files = "files_queue" }
  queued   = local.automatic == 0 ? [] : [for name in keys(local.waits) : name if name != "files" || local.by_events == 1]

  loader_environment = {
    for name, value in {
      ONEFOLD_EVENTS_RUNS        = local.runs
      ONEFOLD_EVENTS_SINCE       = var.since
      ONEFOLD_REDSHIFT_DATABASE  = var.database
      ONEFOLD_REDSHIFT_SCHEMA    = var.schema
      ONEFOLD_REDSHIFT_ROLE      = "arn:${var.partition}:iam::${var.account}:role/onefold-copy"
      ONEFOLD_REDSHIFT_WORKGROUP = var.workgroup == null ? null : var.workgroup.name
      ONEFOLD_REDSHIFT_CLUSTER   = var.cluster
      ONEFOLD_REDSHIFT_SECRET    = var.secret
      ONEFOLD_EXTERNAL_CATALOG   = var.external == null ? null : var.catalog
      ONEFOLD_EXTERNAL_SCHEMA    = try(var.external.schema, null)
      ONEFOLD_EXTERNAL_VIEWS     = try(var.external.views, null)
    } : name => value if value != null
  }
}

resource "aws_sqs_queue" "queue" {
  for_each = toset(local.queued)

  name                      = local.names[each.key]
  message_retention_seconds = 1209600
  kms_master_key_id         = local.key_arn
  # A message comes again after this time; the loader may run for 600 seconds, and the starter for 60.
  visibility_timeout_seconds = local.waits[each.key]
}

resource "aws_sqs_queue_redrive_policy" "runs" {
  count = local.automatic

  queue_url      = aws_sqs_queue.queue["runs"].id
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.queue["dead_runs"].arn, maxReceiveCount = local.receives })
}

resource "aws_sqs_queue_policy" "queue" {
  for_each = { for name in local.queued : name => local.senders[name] if contains(keys(local.senders), name) }

  queue_url = aws_sqs_queue.queue[each.key].id
  policy    = local.documents[each.value]
}

resource "aws_s3_bucket_notification" "runs" {
  count = local.automatic

  bucket      = aws_s3_bucket.events.id
  eventbridge = contains(keys(local.watched), var.bucket)

  queue {
    id            = local.names.runs
    queue_arn     = aws_sqs_queue.queue["runs"].arn
    events        = ["s3:ObjectCreated:*"]
    filter_prefix = "${var.folder}/run="
    filter_suffix = "/shredding_complete.json"
  }

  depends_on = [aws_sqs_queue_policy.queue]
}

resource "aws_iam_role" "loader" {
  count = local.automatic

  name               = local.names.loader
  description        = "The function that loads events into Redshift."
  assume_role_policy = local.documents.function_trust
}

resource "aws_iam_role_policy_attachment" "loader" {
  count = local.automatic

  role       = aws_iam_role.loader[0].name
  policy_arn = aws_iam_policy.loader.arn
}

resource "aws_iam_role_policy" "loader" {
  count = local.automatic

  name   = "take-messages"
  role   = aws_iam_role.loader[0].id
  policy = local.documents.function
}

resource "aws_lambda_function" "loader" {
  #checkov:skip=CKV_AWS_50:its log says what each call did; there is no other service of ours to trace into
  #checkov:skip=CKV_AWS_115:the mapping of the queue bounds how many run at once
  #checkov:skip=CKV_AWS_116:it is called for messages of a queue, which moves what fails to a queue of its own
  #checkov:skip=CKV_AWS_117:it calls services of AWS alone, and no address of a private network
  #checkov:skip=CKV_AWS_272:whoever may replace the code may replace what signs it; the archive's digest is in the state
  count = local.automatic

  function_name    = local.names.loader
  description      = "Loads finished runs of the shredder into Redshift."
  role             = aws_iam_role.loader[0].arn
  runtime          = "python3.13"
  architectures    = ["arm64"]
  handler          = "load_events.handler"
  filename         = "${path.module}/../../build/loader.zip"
  source_code_hash = filebase64sha256("${path.module}/../../build/loader.zip")
  memory_size      = 512
  timeout          = 600
  kms_key_arn      = local.key_arn

  environment {
    variables = local.loader_environment
  }

  depends_on = [aws_cloudwatch_log_group.logs, aws_iam_role_policy.loader, aws_iam_role_policy_attachment.loader]
}

# Two functions at most: loads into one schema wait for each other in Redshift. Each message has all runs loaded, so that one
# call serves many messages.
resource "aws_lambda_event_source_mapping" "runs" {
  count = local.automatic

  event_source_arn                   = aws_sqs_queue.queue["runs"].arn
  function_name                      = aws_lambda_function.loader[0].arn
  batch_size                         = 10
  maximum_batching_window_in_seconds = 5
  function_response_types            = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = 2
  }
}

# A message that names no run, by which the loader finds what no message has brought, and says how long runs wait.
resource "aws_scheduler_schedule" "load" {
  count = local.automatic

  name                = local.names.loader
  description         = "Has the loader look for runs."
  schedule_expression = "rate(1 hour)" # each look wakes Redshift Serverless
  kms_key_arn         = local.key_arn

  flexible_time_window {
    mode = "OFF"
  }

  target {
    arn      = aws_sqs_queue.queue["runs"].arn
    role_arn = aws_iam_role.schedules[0].arn
    input    = "{}"
  }

  depends_on = [aws_iam_role_policy.schedules]
}
