# Terraform drops an attribute that the type of a variable lacks, so a misspelt setting would be no setting. Variables with
# attributes are of any type therefore: the module gives them their types and defaults, and what it drops is refused by name.
module "typed" {
  source = "./modules/typed"

  access_trigger      = var.access_trigger
  captures            = var.captures
  column_readers      = var.column_readers
  pulls               = var.pulls
  reconcile_schedules = var.reconcile_schedules
  schema_registry     = var.schema_registry
  shreds              = var.shreds
  streams             = var.streams
}

locals {
  # What has attributes, by its place: the names that were given, and those that the type has.
  attributes = merge(
    { for name, one in var.captures : "captures.${name}" => { given = keys(one), typed = keys(module.typed.captures[name]) } },
    { for name, one in var.captures : "captures.${name}.checks" => { given = keys(one.checks), typed = keys(module.typed.captures[name].checks) } if try(one.checks, null) != null },
    { for name, one in var.pulls : "pulls.${name}" => { given = keys(one), typed = keys(module.typed.pulls[name]) } },
    { for name, one in var.shreds : "shreds.${name}" => { given = keys(one), typed = keys(module.typed.shreds[name]) } },
    { for name, one in var.streams : "streams.${name}" => { given = keys(one), typed = keys(module.typed.streams[name]) } },
    { for number, one in var.reconcile_schedules : "reconcile_schedules[${number}]" => { given = keys(one), typed = keys(module.typed.reconcile_schedules[number]) } },
    var.access_trigger == null ? null : { access_trigger = { given = keys(var.access_trigger), typed = keys(module.typed.access_trigger) } },
    var.column_readers == null ? null : { column_readers = { given = keys(var.column_readers), typed = keys(module.typed.column_readers) } },
    var.schema_registry == null ? null : { schema_registry = { given = keys(var.schema_registry), typed = keys(module.typed.schema_registry) } },
  )
  unknown_attributes = flatten([
    for place, one in local.attributes : [
      for name in one.given : { place = "${place}.${name}", name = name, typed = one.typed } if !contains(one.typed, name)
    ]
  ])
  attribute_letters = {
    for name in distinct(flatten([for one in local.unknown_attributes : concat([one.name], one.typed)])) : name => split("", lower(name))
  }
  attribute_faults = [
    for one in local.unknown_attributes : format("%s is no attribute: write %s", one.place, join(" or ", coalescelist(
      # Names that differ in two letters at most.
      [
        for name in one.typed : name
        if length(setsubtract(local.attribute_letters[name], local.attribute_letters[one.name])) + length(setsubtract(local.attribute_letters[one.name], local.attribute_letters[name])) <= 2
      ],
      one.typed,
    )))
  ]
}

output "settings" {
  description = "The settings of the deployment that have attributes, by their places."
  value       = keys(local.attributes)

  precondition {
    condition     = length(local.attribute_faults) == 0
    error_message = join("\n", local.attribute_faults)
  }
}
