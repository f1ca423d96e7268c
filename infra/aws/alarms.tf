# Alarms: metrics of queues and of lines of the log, one topic, and a budget.
locals {
  # The lines of the job and of the function, docs/reference/log-events.md. A line counts 1, but for `runs_waiting`.
  log_alarms = {
    many_bad_events       = { log = "shredder", tell = "More events of a run are bad rows than shred.bad_percent allows. The line in the log of the shredder has the counts, and the run's manifest the most frequent reasons." }
    new_bad_reason        = { log = "shredder", tell = "Events are bad rows for a reason that no run of the last 30 days had. The line in the log of the shredder has the reasons." }
    unknown_schema        = { log = "shredder", tell = "Events have schemas that the registry lacks. The line in the log of the shredder names them: add them, then shred the bad rows again." }
    run_without_manifest  = { log = "shredder", tell = "A run of the shredder began an hour ago or earlier and has no manifest: its job was killed, or is still at work. The next run reads its files." }
    recovery_table        = { log = "loader", tell = "A version of a schema does not fit into the table of its model, and its rows have a table of their own. Correct the schema in the producer by a new model." }
    table_not_loaded      = { log = "loader", tell = "Rows of a run are not in their table, for the reason in the log of the loader. The other tables of the run are loaded." }
    run_refused           = { log = "loader", tell = "A run is refused, for the reason in the log of the loader. All other runs are loaded." }
    external_table_failed = { log = "loader", tell = "Runs are not read in place by an external table, for the reason in the log of the loader. Loaded rows and other tables are not affected." }
    load_failed           = { log = "loader", tell = "The loader cannot go on, for the reason in its log. It tries again with each message, and every hour." }
    failed                = { log = "loader", tell = "An error in Onefold: the log of the loader has its trace. Messages are delivered again." }
  }
  log_patterns = { for event in keys(local.log_alarms) : event => "{ $.event = \"${event}\" }" }
  age_pattern  = "{ $.event = \"runs_waiting\" }"

  queue_alarms = {
    dead_runs = "Messages about runs could not be handled ${local.receives} times, and are kept for 14 days. The log of the loader says why; send them back by start-message-move-task once the cause is gone."
    dead_jobs = "A job of the shredder failed or could not be started: the message in the queue says which, the log of the shredder why. The next schedule reads its files. Purge the queue when you have read it."
  }
}

resource "aws_sns_topic" "alarms" {
  count = local.automatic

  name              = local.names.alarms
  kms_master_key_id = local.key_arn
}

resource "aws_sns_topic_policy" "alarms" {
  count = local.automatic

  arn    = aws_sns_topic.alarms[0].arn
  policy = local.documents.alarms_topic
}

resource "aws_sns_topic_subscription" "email" {
  count = var.alert_email == null ? 0 : local.automatic

  topic_arn = aws_sns_topic.alarms[0].arn
  protocol  = "email"
  endpoint  = var.alert_email
}

resource "aws_cloudwatch_log_metric_filter" "event" {
  for_each = local.automatic == 0 ? {} : local.log_alarms

  name           = each.key
  log_group_name = aws_cloudwatch_log_group.logs[each.value.log].name
  pattern        = local.log_patterns[each.key]

  metric_transformation {
    name      = each.key
    namespace = "Onefold"
    value     = "1"
  }
}

resource "aws_cloudwatch_metric_alarm" "event" {
  for_each = local.automatic == 0 ? {} : local.log_alarms

  alarm_name          = "Onefold: ${each.key}"
  alarm_description   = each.value.tell
  namespace           = "Onefold"
  metric_name         = each.key
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alarms[0].arn]

  depends_on = [aws_cloudwatch_log_metric_filter.event]
}

# The loader says the age after each load, 0 where no run waits. A loader that says nothing for two hours is an alarm, too.
resource "aws_cloudwatch_log_metric_filter" "age" {
  count = local.automatic

  name           = "runs_waiting"
  log_group_name = aws_cloudwatch_log_group.logs["loader"].name
  pattern        = local.age_pattern

  metric_transformation {
    name      = "oldest_run_seconds"
    namespace = "Onefold"
    value     = "$.seconds"
    unit      = "Seconds"
  }
}

resource "aws_cloudwatch_metric_alarm" "age" {
  count = local.automatic

  alarm_name          = "Onefold: oldest run not loaded"
  alarm_description   = "A finished run has not been loaded for an hour, or the loader does not run: its log says why."
  namespace           = "Onefold"
  metric_name         = "oldest_run_seconds"
  statistic           = "Maximum"
  unit                = "Seconds"
  period              = 7200
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 3600
  treat_missing_data  = "breaching"
  alarm_actions       = [aws_sns_topic.alarms[0].arn]
  ok_actions          = [aws_sns_topic.alarms[0].arn]

  depends_on = [aws_cloudwatch_log_metric_filter.age]
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  for_each = local.automatic == 0 ? {} : local.queue_alarms

  alarm_name          = "Onefold: ${aws_sqs_queue.queue[each.key].name}"
  alarm_description   = each.value
  namespace           = "AWS/SQS"
  metric_name         = "ApproximateNumberOfMessagesVisible"
  dimensions          = { QueueName = aws_sqs_queue.queue[each.key].name }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alarms[0].arn]
}

# A call that ends without a line of its own: out of time or memory, or a function that cannot start.
resource "aws_cloudwatch_metric_alarm" "function" {
  count = local.automatic

  alarm_name          = "Onefold: calls of the loader fail"
  alarm_description   = "Calls of the function ended by an error, out of time or out of memory: see its log."
  namespace           = "AWS/Lambda"
  metric_name         = "Errors"
  dimensions          = { FunctionName = aws_lambda_function.loader[0].function_name }
  statistic           = "Sum"
  period              = 900
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.alarms[0].arn]
}

# Costs of the account for these services: Redshift and others that use them count as well.
resource "aws_budgets_budget" "costs" {
  count = var.budget == 0 ? 0 : local.automatic

  name         = "onefold"
  budget_type  = "COST"
  time_unit    = "MONTHLY"
  limit_amount = tostring(var.budget)
  limit_unit   = "USD"

  cost_filter {
    name   = "Service"
    values = ["Amazon Elastic MapReduce", "AWS Lambda", "Amazon Redshift"]
  }

  notification {
    comparison_operator       = "GREATER_THAN"
    threshold                 = 80
    threshold_type            = "PERCENTAGE"
    notification_type         = "ACTUAL"
    subscriber_sns_topic_arns = [aws_sns_topic.alarms[0].arn]
  }
  notification {
    comparison_operator       = "GREATER_THAN"
    threshold                 = 100
    threshold_type            = "PERCENTAGE"
    notification_type         = "FORECASTED"
    subscriber_sns_topic_arns = [aws_sns_topic.alarms[0].arn]
  }

  depends_on = [aws_sns_topic_policy.alarms]
}
