# Rights of one account on folders of existing buckets. The Cloud Storage connector checks whether a parent of the folder is a
# file, so the names of parents are admitted, but nothing else below them. To list is a right on the bucket (buckets.tf).
variable "grants" {
  description = "The rights by a key of their own: the role, and the folder without a slash at its end, gs://BUCKET/FOLDER."
  type        = map(object({ folder = string, role = string }))
}

variable "kind" {
  description = "What the titles of the conditions begin with."
  type        = string
}

variable "member" {
  description = "Who gets the rights."
  type        = string
}

locals {
  grants = {
    for key, grant in var.grants : key => merge(grant, {
      bucket = split("/", grant.folder)[2]
      parts  = slice(split("/", grant.folder), 3, length(split("/", grant.folder)))
    })
  }
}

resource "google_storage_bucket_iam_member" "folder" {
  for_each = local.grants

  bucket = each.value.bucket
  role   = each.value.role
  member = var.member

  # A folder without a path is the whole bucket.
  dynamic "condition" {
    for_each = length(each.value.parts) == 0 ? [] : [join("/", each.value.parts)]
    content {
      title       = "${var.kind} ${substr(sha256(each.key), 0, 12)} only"
      description = substr("Objects of ${each.value.folder}", 0, 256)
      expression = join(" || ", concat(
        ["resource.name.startsWith(\"projects/_/buckets/${each.value.bucket}/objects/${condition.value}/\")"],
        [for depth in range(1, length(each.value.parts) + 1) :
        "resource.name == \"projects/_/buckets/${each.value.bucket}/objects/${join("/", slice(each.value.parts, 0, depth))}\""],
      ))
    }
  }
}
