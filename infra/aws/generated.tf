# What AWS names itself, the key and the application, and the version of the code. Policies and calls need them.
locals {
  code_version    = local.automatic == 0 ? "" : substr(sha256(join("", [for name, path in local.code_files : filesha256(path)])), 0, 16)
  key_arn         = var.kms_key != null ? var.kms_key : one(aws_kms_key.onefold[*].arn)
  application_arn = one(aws_emrserverless_application.shredder[*].arn)
  application_id  = one(aws_emrserverless_application.shredder[*].id)
}

# One key for the bucket, the queues, the topic, the logs and the function. Without it nothing of them can be read.
resource "aws_kms_key" "onefold" {
  count = var.shred != null && var.kms_key == null ? 1 : 0

  description             = "Onefold: events, messages and logs."
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = local.key_document

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_kms_alias" "onefold" {
  count = length(aws_kms_key.onefold)

  name          = "alias/onefold"
  target_key_id = aws_kms_key.onefold[0].key_id
}
