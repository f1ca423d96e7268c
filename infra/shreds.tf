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

  shred_schedules = {
    for name, shred in local.shreds : name => {
      name        = "${var.prefix}onefold-shred-${name}"
      description = "Shreds the new events of ${name}."
      schedule    = shred.schedule
      message = jsonencode({
        job = "shred"
        arguments = {
          events   = shred.events
          registry = shred.registry
          output   = shred.output
          format   = shred.format
          input    = shred.input
        }
      })
    }
  }
}
