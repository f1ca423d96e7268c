# The role with which Redshift's COPY reads the files. It has to be added to the cluster, or to the workgroup's namespace.
resource "aws_iam_role" "copy" {
  name               = "onefold-copy"
  description        = "COPY of Redshift reads the files of the shredder."
  assume_role_policy = local.documents.copy_trust
}

resource "aws_iam_role_policy" "copy" {
  name   = "read-runs"
  role   = aws_iam_role.copy.id
  policy = local.documents.copy
}

# Policies for whoever runs the loader and the shredder: attach each to the role or the user that does.
resource "aws_iam_policy" "loader" {
  name        = "onefold-loader"
  description = "onefold load-shredded --target redshift"
  policy      = local.documents.loader
}

resource "aws_iam_policy" "shredder" {
  name        = "onefold-shredder"
  description = "The shredder writes files of runs."
  policy      = local.documents.shredder
}
