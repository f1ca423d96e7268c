# A plan refuses what a batch or Google would refuse, and reports all entries at once, as for captures.
locals {
  pull_datasets = flatten([
    for name, pull in module.typed.pulls : [for database in pull.databases : replace("${name}_${database}", "/[^A-Za-z0-9_]/", "_")]
  ])
  pull_faults = flatten([
    for name, pull in module.typed.pulls : [
      for fault, wrong in {
        "its name must have 2 to 20 lower-case letters, digits and hyphens, and begin with a letter" = !can(regex("^[a-z][a-z0-9-]{0,18}[a-z0-9]$", name))
        "parallel must be a whole number from 1 to 64"                                               = pull.parallel != null && !try(contains(range(1, 65), pull.parallel), false)
        # A message of launch_batch has 50,000 bytes at most, and the name of a database 64 characters.
        "databases_per_batch must be a whole number from 1 to 200"                                                                                                                                          = !contains(range(1, 201), pull.databases_per_batch)
        "stream_below must be a whole number of bytes from 0 to 5,000,000"                                                                                                                                  = pull.stream_below < 0 || pull.stream_below > 5000000 || floor(pull.stream_below) != pull.stream_below
        "the source and each of its databases must be among `sources` of onefold.yaml, which has ${join(", ", [for source, databases in local.source_databases : "${source} (${join(", ", databases)})"])}" = length(setsubtract(pull.databases, try(local.source_databases[name], []))) > 0 || !contains(keys(local.source_databases), name)
        "secret must be the id of a secret of the project, which holds the password"                                                                                                                        = !can(regex("^[A-Za-z0-9_-]{1,255}$", pull.secret))
        "the dataset of each database, SOURCE_DATABASE with _ for other characters, must be among datasets"                                                                                                 = anytrue([for database in pull.databases : !contains(var.datasets, replace("${name}_${database}", "/[^A-Za-z0-9_]/", "_"))])
        "two databases would be pulled into one dataset, as a-b with c and a with b_c would"                                                                                                                = anytrue([for database in pull.databases : length([for dataset in local.pull_datasets : dataset if dataset == replace("${name}_${database}", "/[^A-Za-z0-9_]/", "_")]) > 1])
        "pymysql.zip or compiled_libraries.zip is not in the folder of packages: run `make package` where they can be downloaded"                                                                           = !alltrue([for file in ["pymysql.zip", "compiled_libraries.zip"] : fileexists("${local.package}/${file}")])
      } : "pulls.${name}: ${fault}" if wrong
    ]
  ])
}

output "pulls" {
  description = "The pulled sources: the account of each, and for each database its dataset and that of its full views."
  value = {
    for name, pull in local.pulls : name => {
      service_account = pull.account
      datasets        = { for pulled in values(local.pulled) : pulled.dataset => pulled.views if pulled.source == name }
    }
  }

  precondition {
    condition     = length(local.pull_faults) == 0
    error_message = join("\n", local.pull_faults)
  }
}
