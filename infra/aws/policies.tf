# The policies as values. Nothing here depends on a resource, but for the two names of generated.tf, so that policies can be
# read, and tested, without an account. pipeline.tf has those of what runs by itself.
locals {
  bucket_arn = "arn:${var.partition}:s3:::${var.bucket}"
  files      = "${local.bucket_arn}/${var.folder}/*"
  warehouse  = var.workgroup == null ? var.cluster : var.workgroup.name
  target = (
    var.workgroup == null
    ? "arn:${var.partition}:redshift:${var.region}:${var.account}:cluster:${var.cluster}"
    : "arn:${var.partition}:redshift-serverless:${var.region}:${var.account}:workgroup/${var.workgroup.id}"
  )

  # Redshift sends the ARN of the user of the database as the external id; it holds region, account and cluster.
  db_users = [
    for user in distinct(concat(var.db_users, var.shred != null && var.secret == null ? ["IAMR:${local.names.loader}"] : [])) :
    "arn:${var.partition}:redshift:${var.region}:${var.account}:dbuser:${local.warehouse}/${user}"
  ]

  # A question about a file that is not there has no prefix. S3 answers it by 404 for whoever may list, else by 403 (Amazon S3,
  # GetObject, "Permissions", 2026-11), so the condition has to hold without a prefix, too. COPY asks for files that are there.
  list_files = {
    Sid       = "ListFiles"
    Effect    = "Allow"
    Action    = "s3:ListBucket"
    Resource  = local.bucket_arn
    Condition = { StringLikeIfExists = local.prefixes }
  }
  prefixes   = { "s3:prefix" = [var.folder, "${var.folder}/*"] }
  read_files = { Sid = "ReadFiles", Effect = "Allow", Action = "s3:GetObject", Resource = local.files }
  decrypt    = local.has_key ? [{ Sid = "Decrypt", Effect = "Allow", Action = "kms:Decrypt", Resource = local.key_arn }] : []
  encrypt = local.has_key ? [
    { Sid = "Encrypt", Effect = "Allow", Action = ["kms:Decrypt", "kms:GenerateDataKey"], Resource = local.key_arn }
  ] : []
  has_key = var.kms_key != null || var.shred != null

  # External tables over the runs: Redshift reads them, and the loader and `onefold external-tables` write them.
  catalog_arns = var.catalog == null ? [] : [
    for name in ["catalog", "database/${var.catalog}", "table/${var.catalog}/*"] : "arn:${var.partition}:glue:${var.region}:${var.account}:${name}"
  ]
  read_catalog = var.catalog == null ? [] : [{
    Sid      = "ReadCatalog"
    Effect   = "Allow"
    Action   = ["glue:GetDatabase", "glue:GetTable", "glue:GetTables", "glue:GetPartition", "glue:GetPartitions"]
    Resource = local.catalog_arns
  }]
  write_catalog = var.catalog == null ? [] : [{
    Sid      = "WriteCatalog"
    Effect   = "Allow"
    Action   = ["glue:GetDatabase", "glue:GetTable", "glue:GetPartitions", "glue:CreateTable", "glue:UpdateTable", "glue:BatchCreatePartition"]
    Resource = local.catalog_arns
  }]

  sign_in = (
    var.secret != null
    ? { Sid = "SignIn", Effect = "Allow", Action = "secretsmanager:GetSecretValue", Resource = [var.secret] }
    : var.workgroup != null
    ? { Sid = "SignIn", Effect = "Allow", Action = "redshift-serverless:GetCredentials", Resource = [local.target] }
    : {
      Sid    = "SignIn"
      Effect = "Allow"
      Action = "redshift:GetClusterCredentialsWithIAM"
      Resource = [
        "arn:${var.partition}:redshift:${var.region}:${var.account}:dbname:${coalesce(local.warehouse, "-")}/${var.database}"
      ]
    }
  )

  policies = {
    # Who may take the role of COPY: Redshift, for the named users of one cluster or workgroup of this account.
    copy_trust = [{
      Effect    = "Allow"
      Principal = { Service = ["redshift.amazonaws.com", "redshift-serverless.amazonaws.com"] }
      Action    = "sts:AssumeRole"
      Condition = { StringLike = { "sts:ExternalId" = local.db_users } }
    }]

    # COPY reads files of runs and writes nothing.
    copy = concat([merge(local.list_files, { Condition = { StringLike = local.prefixes } }), local.read_files], local.decrypt, local.read_catalog)

    # The loader runs statements, reads manifests, and writes the lists of files for COPY, nothing else.
    loader = concat([
      {
        Sid      = "RunStatements"
        Effect   = "Allow"
        Action   = ["redshift-data:ExecuteStatement", "redshift-data:BatchExecuteStatement"]
        Resource = local.target
      },
      {
        Sid       = "ReadOwnStatements"
        Effect    = "Allow"
        Action    = ["redshift-data:DescribeStatement", "redshift-data:GetStatementResult", "redshift-data:CancelStatement"]
        Resource  = "*"
        Condition = { StringEquals = { "redshift-data:statement-owner-iam-userid" = "$${aws:userid}" } }
      },
      local.sign_in,
      local.list_files,
      local.read_files,
      {
        Sid      = "WriteListsOfFiles"
        Effect   = "Allow"
        Action   = "s3:PutObject"
        Resource = "${local.bucket_arn}/${var.folder}/run=*/copy/*"
      },
    ], local.encrypt, local.write_catalog)

    # The shredder writes runs, and deletes what is left of runs that were not finished.
    shredder = concat([
      local.list_files,
      {
        Sid      = "WriteRuns"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
        Resource = local.files
      },
    ], local.encrypt)

    # Nobody reaches the bucket without TLS.
    bucket = [{
      Sid       = "DenyPlainHttp"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [local.bucket_arn, "${local.bucket_arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  }

  documents = {
    for name, statements in merge(local.policies, local.pipeline_policies, local.starter_policies) :
    name => jsonencode({ Version = "2012-10-17", Statement = statements })
    if contains(keys(local.policies), name) || (contains(keys(local.starter_policies), name) ? local.by_events : local.automatic) == 1
  }
}
