output "runs" {
  description = "The folder of the runs, for the shredder's --output and the loader's --runs."
  value       = "s3://${aws_s3_bucket.events.id}/${var.folder}"
}

output "copy_role" {
  description = "The role of COPY, for the loader's --role. Add it to the cluster or to the namespace of the workgroup."
  value       = aws_iam_role.copy.arn
}

output "loader_policy" {
  description = "The policy of the loader: attach it to the role or the user that runs it."
  value       = aws_iam_policy.loader.arn
}

output "shredder_policy" {
  description = "The policy of the shredder: attach it to the role or the user that runs it."
  value       = aws_iam_policy.shredder.arn
}

output "queue" {
  description = "The queue whose messages wake the loader; null without `shred`."
  value       = one([for name, queue in aws_sqs_queue.queue : queue.url if name == "runs"])
}

output "application" {
  description = "The application of EMR Serverless that runs the shredder; null without `shred`."
  value       = local.application_id
}

output "emr" {
  description = "The variables of the command line that starts jobs of the shredder; null without `shred`."
  value       = local.automatic == 0 ? null : local.emr
}

output "alarms" {
  description = "The topic of the alarms; null without `shred`."
  value       = one(aws_sns_topic.alarms[*].arn)
}
