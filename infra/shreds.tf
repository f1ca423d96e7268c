# Shredded events: for each entry of `shreds` a schedule, and the rights on its folders. The batch reads events and schemas,
# and writes runs.
locals {
  # If an entry is invalid, nothing is planned of shreds: the output `shreds` reports the problems of all entries.
  shreds = {
    for name, shred in module.typed.shreds : name => merge(shred, {
      output = trimsuffix(shred.output, "/")
      registries = length(shred.registries) > 0 ? [for place in shred.registries : trimsuffix(place, "/")] : [
        coalesce(shred.registry, local.has_registry ? local.registry_environment.ONEFOLD_REGISTRY : "")
      ]
    }) if length(local.shred_faults) == 0
  }
  # A pattern reads below the folder before its first `*` or `?`.
  shred_events  = { for name, shred in local.shreds : name => [for place in shred.events : trimsuffix(replace(place, "//[^/]*[*?].*$/", ""), "/")] }
  shred_read    = distinct(flatten([for name, shred in local.shreds : concat(local.shred_events[name], [for place in shred.registries : place if startswith(place, "gs://")])]))
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
        arguments = merge(
          {
            events            = shred.events
            output            = shred.output
            input             = shred.input
            unknown           = shred.unknown
            duplicates-window = shred.duplicates_window
            bad-percent       = shred.bad_percent
          },
          # A launcher of an earlier release knows no layout, no warehouse and one registry, and needs no more for what is usual.
          { for name, value in { layout = shred.layout } : name => value if value != "tables" },
          { for place in length(shred.registries) == 1 ? shred.registries : [] : "registry" => place },
          { for name in length(shred.registries) > 1 ? ["registry"] : [] : name => shred.registries },
          { for name, value in { warehouse = shred.warehouse, format = shred.format } : name => value if value != null },
        )
      })
    }
  }
}

# Output of a driver is logged as text by some versions of the runtime, and as fields by others.
locals {
  shred_lines = "resource.type=\"cloud_dataproc_batch\" AND resource.labels.batch_id=~\"^onefold-shred-\""
  # What each event of a run's log tells, docs/reference/log-events.md.
  shred_events_told = {
    many_bad_events      = { title = "many events are bad", tell = "More events of a run are bad rows than its bad_percent allows. The line has the counts, and `reasons` of the run's manifest the most frequent reasons." }
    new_bad_reason       = { title = "new reason for bad events", tell = "Events are bad rows for a reason that no run of the last 30 days had. The line has the reasons; correct the producer, or add a version of the schema, then shred the bad rows again." }
    unknown_schema       = { title = "events of an unknown schema", tell = "Events have schemas, or versions of them, that the registry lacks. The line names them: add them, then shred the bad rows again." }
    run_without_manifest = { title = "run without a manifest", tell = "A run of the shredder began an hour ago or earlier and has no manifest, so its rows are not loaded. Its batch was ended, or is still at work. The next run reads its files." }
  }
  shred_alerts = {
    for event, told in length(local.shreds) == 0 ? {} : local.shred_events_told : told.title => {
      filter = "${local.shred_lines} AND (jsonPayload.event=\"${event}\" OR jsonPayload.message=~\"\\\"event\\\": \\\"${event}\\\"\" OR textPayload=~\"\\\"event\\\": \\\"${event}\\\"\")"
      labels = { batch = "EXTRACT(resource.labels.batch_id)" }
      tell   = told.tell
    }
  }
}
