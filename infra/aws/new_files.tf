# S3's events as a trigger beside the schedule: EventBridge sends a message for each new file to a queue, and a function has a
# run of the shredder read what is there. Messages are hints: many of them make one run, and the schedule finds what none has told.
locals {
  by_events = try(local.shred.event_seconds, null) == null ? 0 : local.automatic

  # The folders of events by bucket. A run writes below the folder of the runs, and must not start the next one.
  split_events = [
    for place in local.events : {
      bucket = split("/", place)[0]
      folder = "${trimprefix(trimprefix(place, split("/", place)[0]), "/")}/"
    }
  ]
  told = [
    for place in local.split_events : place if place.bucket != var.bucket || !(
      place.folder == "/" || startswith(place.folder, "${var.folder}/") || startswith("${var.folder}/", place.folder)
    )
  ]
  watched = { for place in local.by_events == 0 ? [] : local.told : place.bucket => place.folder... }

  # A folder "/" is the whole bucket.
  new_files = {
    for bucket, folders in local.watched : bucket => {
      source      = ["aws.s3"]
      detail-type = ["Object Created"]
      detail = merge(
        { bucket = { name = [bucket] } },
        { for name in contains(folders, "/") ? [] : ["object"] : name => { key = [for folder in distinct(folders) : { prefix = trimsuffix(folder, "/") }] } },
      )
    }
  }
  # The name of a rule has 64 characters, and that of a bucket up to 63.
  rules = { for bucket in keys(local.watched) : bucket => "${local.names.new_files}-${substr(sha256(bucket), 0, 8)}" }

  starter_environment = merge(local.emr, { ONEFOLD_EMR_ARGUMENTS = jsonencode(local.start_job.JobDriver.SparkSubmit.EntryPointArguments) })

  starter_policies = {
    # The starter sees the jobs of the application, and starts jobs with the role of the job and no other one.
    starter = concat([
      {
        Sid      = "TakeMessages"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        Resource = local.queues.files
      },
      { Sid = "StartJobs", Effect = "Allow", Action = ["emr-serverless:StartJobRun", "emr-serverless:ListJobRuns"], Resource = local.application_arn },
      { Sid = "SeeJobs", Effect = "Allow", Action = "emr-serverless:GetJobRun", Resource = "${local.application_arn}/jobruns/*" },
      {
        Sid       = "GiveJobsTheirRole"
        Effect    = "Allow"
        Action    = "iam:PassRole"
        Resource  = local.roles.shredder
        Condition = { StringEquals = { "iam:PassedToService" = "emr-serverless.amazonaws.com" } }
      },
      {
        Sid      = "WriteLog"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "arn:${var.partition}:logs:${local.in_account}:log-group:/aws/lambda/${local.names.starter}:*"
      },
    ], local.decrypt)

    # Who may send: the rules about new files.
    files_queue = [{
      Sid       = "NewFiles"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queues.files
      Condition = { ArnEquals = { "aws:SourceArn" = [for name in values(local.rules) : "arn:${var.partition}:events:${local.in_account}:rule/${name}"] } }
    }]
  }
}

resource "aws_cloudwatch_event_rule" "new_files" {
  for_each = local.rules

  name          = each.value
  description   = "New files of events in ${each.key}."
  event_pattern = jsonencode(local.new_files[each.key])
}

resource "aws_cloudwatch_event_target" "new_files" {
  for_each = local.rules

  rule = aws_cloudwatch_event_rule.new_files[each.key].name
  arn  = aws_sqs_queue.queue["files"].arn
}

# What could not be started is kept with the jobs that failed, and is the same alarm.
resource "aws_sqs_queue_redrive_policy" "files" {
  count = local.by_events

  queue_url      = aws_sqs_queue.queue["files"].id
  redrive_policy = jsonencode({ deadLetterTargetArn = aws_sqs_queue.queue["dead_jobs"].arn, maxReceiveCount = local.receives })
}

resource "aws_iam_role" "starter" {
  count = local.by_events

  name               = local.names.starter
  description        = "The function that has new files of events shredded."
  assume_role_policy = local.documents.function_trust
}

resource "aws_iam_role_policy" "starter" {
  count = local.by_events

  name   = "start-jobs"
  role   = aws_iam_role.starter[0].id
  policy = local.documents.starter
}

resource "aws_lambda_function" "starter" {
  #checkov:skip=CKV_AWS_50:its log says what each call did; there is no other service of ours to trace into
  #checkov:skip=CKV_AWS_115:the mapping of the queue bounds how many run at once
  #checkov:skip=CKV_AWS_116:it is called for messages of a queue, which moves what fails to a queue of its own
  #checkov:skip=CKV_AWS_117:it calls services of AWS alone, and no address of a private network
  #checkov:skip=CKV_AWS_272:whoever may replace the code may replace what signs it; the archive's digest is in the state
  count = local.by_events

  function_name    = local.names.starter
  description      = "Has new files of events shredded."
  role             = aws_iam_role.starter[0].arn
  runtime          = "python3.13"
  architectures    = ["arm64"]
  handler          = "start_shredder.handler"
  filename         = "${path.module}/../../build/starter.zip"
  source_code_hash = filebase64sha256("${path.module}/../../build/starter.zip")
  memory_size      = 512
  timeout          = 60
  kms_key_arn      = local.key_arn

  environment {
    variables = local.starter_environment
  }

  depends_on = [aws_cloudwatch_log_group.logs, aws_iam_role_policy.starter, aws_s3_object.code, aws_iam_role_policy.shredder]
}

# One call for the messages of so many seconds. Two at once are the least that the service allows; they start one job together.
resource "aws_lambda_event_source_mapping" "files" {
  count = local.by_events

  event_source_arn                   = aws_sqs_queue.queue["files"].arn
  function_name                      = aws_lambda_function.starter[0].arn
  batch_size                         = 10000
  maximum_batching_window_in_seconds = local.shred.event_seconds
  function_response_types            = ["ReportBatchItemFailures"]

  scaling_config {
    maximum_concurrency = 2
  }
}

resource "aws_cloudwatch_metric_alarm" "starter" {
  count = local.by_events

  alarm_name          = "Onefold: calls of the starter fail"
  alarm_description   = "Calls of the function that has new files shredded ended by an error, out of time or out of memory: see its log. The schedule reads the files meanwhile."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.starter[0].function_name }
  statistic           = "Sum"
  period              = 900
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alarms[0].arn]
}
