# Shredded events: for each entry of `shreds` a schedule, and the rights on its folders. The batch reads events and schemas,
# and writes runs.
locals {
  shreds = {
    for name, shred in var.shreds : name => merge(shred, {
      output   = trimsuffix(shred.output, "/")
      registry = coalesce(shred.registry, local.has_registry ? local.registry_environment.ONEFOLD_REGISTRY : "")
    })
  }
  # A pattern reads below the folder before its first `*` or `?`.
  shred_events  = { for name, shred in local.shreds : name => [for place in shred.events : trimsuffix(replace(place, "//[^/]*[*?].*$/", ""), "/")] }
  shred_read    = distinct(flatten([for name, shred in local.shreds : concat(local.shred_events[name], startswith(shred.registry, "gs://") ? [shred.registry] : [])]))
  shred_written = distinct([for shred in values(local.shreds) : shred.output])

  shred_folders = merge(
    { for folder in local.shred_read : "${folder} read" => { folder = folder, role = "roles/storage.objectViewer" } },
    { for folder in local.shred_written : "${folder} written" => { folder = folder, role = "roles/storage.objectUser" } },
  )
  shred_grants = {
    for key, grant in local.shred_folders : key => {
      role   = grant.role
      folder = grant.folder
      bucket = split("/", grant.folder)[2]
      parts  = slice(split("/", grant.folder), 3, length(split("/", grant.folder)))
    }
  }
}

# As for `batch_folders` (buckets.tf).
resource "google_storage_bucket_iam_member" "shred" {
  for_each = local.shred_grants

  bucket = each.value.bucket
  role   = each.value.role
  member = "serviceAccount:${local.accounts["batch"]}"

  # A folder without a path is the whole bucket.
  dynamic "condition" {
    for_each = length(each.value.parts) == 0 ? [] : [join("/", each.value.parts)]
    content {
      title       = "shred ${substr(sha256(each.key), 0, 12)} only"
      description = substr("Objects of ${each.value.folder}", 0, 256)
      expression = join(" || ", concat(
        ["resource.name.startsWith(\"projects/_/buckets/${each.value.bucket}/objects/${condition.value}/\")"],
        [for depth in range(1, length(each.value.parts) + 1) :
        "resource.name == \"projects/_/buckets/${each.value.bucket}/objects/${join("/", slice(each.value.parts, 0, depth))}\""],
      ))
    }
  }

  depends_on = [google_storage_bucket.registry]
}

resource "google_cloud_scheduler_job" "shred" {
  for_each = local.shreds

  name        = "${var.prefix}onefold-shred-${each.key}"
  description = "Shreds the new events of ${each.key}."
  region      = var.region
  schedule    = each.value.schedule
  time_zone   = var.time_zone

  pubsub_target {
    topic_name = google_pubsub_topic.topic["batch-requests"].id
    data = base64encode(jsonencode({
      job = "shred"
      arguments = {
        events   = each.value.events
        registry = each.value.registry
        output   = each.value.output
        format   = each.value.format
        input    = each.value.input
      }
    }))
  }

  depends_on = [google_project_service.api, google_storage_bucket_iam_member.shred]
}
