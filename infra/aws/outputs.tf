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
