# Loads without a person: names, policies and the call that starts a job, as values. Nothing of it exists without `shred`.
locals {
  automatic = var.shred == null ? 0 : 1

  names = {
    shredder  = "onefold-shredder"
    loader    = "onefold-loader"
    schedules = "onefold-schedules"
    runs      = "onefold-runs"
    dead_runs = "onefold-runs-dead"
    dead_jobs = "onefold-jobs-dead"
    alarms    = "onefold-alarms"
    rule      = "onefold-failed-jobs"
    files     = "onefold-files"
    starter   = "onefold-starter"
    new_files = "onefold-new-files"
  }
  logs = merge(
    { shredder = "/onefold/shredder", loader = "/aws/lambda/${local.names.loader}" },
    { for name in local.by_events == 1 ? ["starter"] : [] : name => "/aws/lambda/${local.names[name]}" },
  )
  in_account = "${var.region}:${var.account}"
  queues     = { for name in ["runs", "dead_runs", "dead_jobs", "files"] : name => "arn:${var.partition}:sqs:${local.in_account}:${local.names[name]}" }
  topic      = "arn:${var.partition}:sns:${local.in_account}:${local.names.alarms}"
  roles      = { for name in ["shredder", "loader", "schedules", "starter"] : name => "arn:${var.partition}:iam::${var.account}:role/${local.names[name]}" }
  runs       = "s3://${var.bucket}/${var.folder}"
  code       = "s3://${var.bucket}/code"

  # What the job reads: a pattern reads below the folder before its first `*` or `?`.
  events = [for place in local.shred.events : trimprefix(trimsuffix(replace(place, "//[^/]*[*?].*$/", ""), "/"), "s3://")]
  places = distinct(concat(
    local.events,
    [for place in concat(local.shred.registries, local.shred.resolver_buckets, [local.code]) : trimprefix(trimsuffix(place, "/"), "s3://") if startswith(place, "s3://")],
  ))
  read = [
    for place in local.places : {
      bucket = "arn:${var.partition}:s3:::${split("/", place)[0]}"
      folder = trimprefix(trimprefix(place, split("/", place)[0]), "/")
    }
  ]

  from_account = { StringEquals = { "aws:SourceAccount" = var.account } }

  # Apart from the other policies, which name the key.
  # Services that call on behalf of this account, where they say so.
  key_statements = [
    { Sid = "Account", Effect = "Allow", Principal = { AWS = "arn:${var.partition}:iam::${var.account}:root" }, Action = "kms:*", Resource = "*" },
    {
      Sid       = "Messages"
      Effect    = "Allow"
      Principal = { Service = ["s3.amazonaws.com", "events.amazonaws.com", "cloudwatch.amazonaws.com", "budgets.amazonaws.com"] }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = "*"
      Condition = { StringEqualsIfExists = { "aws:SourceAccount" = var.account } }
    },
    {
      Sid       = "Logs"
      Effect    = "Allow"
      Principal = { Service = "logs.${var.region}.amazonaws.com" }
      Action    = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
      Resource  = "*"
      Condition = { ArnLike = { "kms:EncryptionContext:aws:logs:arn" = "arn:${var.partition}:logs:${local.in_account}:log-group:*" } }
    },
  ]
  key_document = jsonencode({ Version = "2012-10-17", Statement = local.key_statements })

  pipeline_policies = {
    # The job: besides the runs (policy `shredder`) it reads events, schemas and its own code, and writes its log.
    job_trust = [{
      Effect    = "Allow"
      Principal = { Service = "emr-serverless.amazonaws.com" }
      Action    = "sts:AssumeRole"
      Condition = merge(local.from_account, { ArnLike = { "aws:SourceArn" = local.application_arn } })
    }]
    job = concat(
      [
        for place in local.read : {
          Effect    = "Allow"
          Action    = "s3:ListBucket"
          Resource  = place.bucket
          Condition = { StringLikeIfExists = { "s3:prefix" = place.folder == "" ? ["*"] : [place.folder, "${place.folder}/*"] } }
        }
      ],
      [
        {
          Sid    = "ReadInputs"
          Effect = "Allow"
          Action = "s3:GetObject"
          Resource = flatten([
            for place in local.read :
            place.folder == "" ? ["${place.bucket}/*"] : ["${place.bucket}/${place.folder}", "${place.bucket}/${place.folder}/*"]
          ])
        },
        {
          Sid      = "WriteLog"
          Effect   = "Allow"
          Action   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
          Resource = "arn:${var.partition}:logs:${local.in_account}:log-group:${local.logs.shredder}:*"
        },
        { Sid = "FindLog", Effect = "Allow", Action = "logs:DescribeLogGroups", Resource = "arn:${var.partition}:logs:${local.in_account}:log-group:*" },
      ],
    )

    # The function takes messages and writes its log; the rest is the policy `loader`.
    function_trust = [{ Effect = "Allow", Principal = { Service = "lambda.amazonaws.com" }, Action = "sts:AssumeRole" }]
    function = [
      {
        Sid      = "TakeMessages"
        Effect   = "Allow"
        Action   = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
        Resource = local.queues.runs
      },
      {
        Sid      = "WriteLog"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "arn:${var.partition}:logs:${local.in_account}:log-group:${local.logs.loader}:*"
      },
    ]

    # The schedules start jobs with the role of the job and no other one, wake the loader, and keep what they could not start.
    schedules_trust = [{ Effect = "Allow", Principal = { Service = "scheduler.amazonaws.com" }, Action = "sts:AssumeRole", Condition = local.from_account }]
    schedules = concat([
      { Sid = "StartJobs", Effect = "Allow", Action = "emr-serverless:StartJobRun", Resource = local.application_arn },
      {
        Sid       = "GiveJobsTheirRole"
        Effect    = "Allow"
        Action    = "iam:PassRole"
        Resource  = local.roles.shredder
        Condition = { StringEquals = { "iam:PassedToService" = "emr-serverless.amazonaws.com" } }
      },
      { Sid = "SendMessages", Effect = "Allow", Action = "sqs:SendMessage", Resource = [local.queues.runs, local.queues.dead_jobs] },
    ], local.encrypt)

    # Who may send: S3 about this bucket, and the rule of failed jobs.
    runs_queue = [{
      Sid       = "NewManifests"
      Effect    = "Allow"
      Principal = { Service = "s3.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queues.runs
      Condition = merge(local.from_account, { ArnEquals = { "aws:SourceArn" = local.bucket_arn } })
    }]
    dead_jobs_queue = [{
      Sid       = "FailedJobs"
      Effect    = "Allow"
      Principal = { Service = "events.amazonaws.com" }
      Action    = "sqs:SendMessage"
      Resource  = local.queues.dead_jobs
      Condition = { ArnEquals = { "aws:SourceArn" = "arn:${var.partition}:events:${local.in_account}:rule/${local.names.rule}" } }
    }]
    alarms_topic = [{
      Sid       = "Alarms"
      Effect    = "Allow"
      Principal = { Service = ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"] }
      Action    = "sns:Publish"
      Resource  = local.topic
      Condition = local.from_account
    }]
  }
}
