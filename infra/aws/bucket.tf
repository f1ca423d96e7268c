# The files of the shredder. The bucket holds data, so `terraform destroy` does not delete it while there are any.
resource "aws_s3_bucket" "events" {
  #checkov:skip=CKV_AWS_144:runs can be shredded again from the events; a second region would double the cost
  #checkov:skip=CKV_AWS_18:reads are in CloudTrail if the account enables its data events; a second log would need another bucket
  bucket = var.bucket

  lifecycle {
    prevent_destroy = true
  }
}

resource "aws_s3_bucket_public_access_block" "events" {
  bucket                  = aws_s3_bucket.events.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "events" {
  bucket = aws_s3_bucket.events.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "events" {
  bucket = aws_s3_bucket.events.id

  rule {
    bucket_key_enabled = local.has_key

    apply_server_side_encryption_by_default {
      sse_algorithm     = local.has_key ? "aws:kms" : "AES256"
      kms_master_key_id = local.key_arn
    }
  }
}

resource "aws_s3_bucket_versioning" "events" {
  bucket = aws_s3_bucket.events.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "events" {
  bucket     = aws_s3_bucket.events.id
  depends_on = [aws_s3_bucket_versioning.events]

  rule {
    id     = "old-versions"
    status = "Enabled"

    filter {}

    noncurrent_version_expiration {
      noncurrent_days = 30
    }
    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  # Which files were read is known from _commits/, which no rule may delete.
  dynamic "rule" {
    for_each = var.days == 0 ? [] : [var.days]
    content {
      id     = "loaded-runs"
      status = "Enabled"

      filter {
        prefix = "${var.folder}/run="
      }
      expiration {
        days = rule.value
      }
    }
  }
}

resource "aws_s3_bucket_policy" "events" {
  bucket     = aws_s3_bucket.events.id
  policy     = local.documents.bucket
  depends_on = [aws_s3_bucket_public_access_block.events]
}
