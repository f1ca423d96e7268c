"""The first onefold.yaml of an installation, and the file of Terraform's variables that belongs to it, with comments.

What three answers tell is written. What they cannot tell, such as the address of a source, is a block of comments.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from onefold.settings.schema_check import modeline

Origin = Literal["capture", "pull", "tables", "events"]
ORIGINS: tuple[Origin, ...] = get_args(Origin)
SETTINGS_FILE, VARIABLES_FILE = "onefold.yaml", "onefold.tfvars"


@dataclass(frozen=True)
class Answers:
    """What `onefold init` asks for.

    Attributes:
        project: the project.
        region: the region of functions and batches.
        origins: where the rows of versioned tables come from.
        datasets: the datasets of versioned tables.
    """

    project: str
    region: str
    origins: tuple[Origin, ...]
    datasets: tuple[str, ...]

    @property
    def plan_command(self) -> str:
        """The command that shows what a deployment would make."""
        return f"make plan PROJECT={self.project} REGION={self.region} VARS={VARIABLES_FILE}"


def settings_text(answers: Answers) -> str:
    """Return the text of onefold.yaml."""
    parts = [_HEAD.format(modeline=modeline("settings/onefold.schema.json")), *_settings_of(answers)]
    return "\n".join(parts)


def variables_text(answers: Answers) -> str:
    """Return the text of the file of Terraform's variables."""
    names = json.dumps(list(answers.datasets))
    head = _VARIABLES_HEAD.format(plan=answers.plan_command, deploy=answers.plan_command.replace("plan", "deploy", 1))
    return "\n".join([head, f"datasets = {names}\n", *_variables_of(answers)])


def next_steps(answers: Answers) -> Iterator[str]:
    """Yield what to do after the two files are there, one sentence each."""
    if "capture" in answers.origins:
        yield f"fill in `captures` in {VARIABLES_FILE} (docs/how-to/run-capture.md)"
    if "pull" in answers.origins:
        yield f"run `onefold sources init NAME --host H --user U ...`, and put what it prints into {SETTINGS_FILE}"
        yield f"fill in `pulls` in {VARIABLES_FILE} (docs/tutorials/pull-tables.md)"
    if "events" in answers.origins:
        yield f"fill in `schema_registry` and `events` in {VARIABLES_FILE} (docs/how-to/load-events.md)"
    yield f"run `onefold settings check`, then `{answers.plan_command}`, which applies nothing"


def _settings_of(answers: Answers) -> Iterator[str]:
    if "events" in answers.origins:
        yield _EVENTS.format(dataset=answers.datasets[-1])
    for origin, text in (("capture", _CAPTURE), ("pull", _PULL), ("tables", _TABLES)):
        if origin in answers.origins:
            yield text.format(dataset=answers.datasets[0])


def _variables_of(answers: Answers) -> Iterator[str]:
    texts: Sequence[tuple[Origin, str, str]] = (
        ("capture", _CAPTURE_VARIABLES, answers.datasets[0]),
        ("pull", _PULL_VARIABLES, answers.datasets[0]),
        ("events", _EVENTS_VARIABLES, answers.datasets[-1]),
    )
    for origin, text, dataset in texts:
        if origin in answers.origins:
            yield text.replace("DATASET", dataset).replace("PROJECT", answers.project)


_HEAD = """\
{modeline}
# The settings of tables. docs/reference/onefold-yaml.md has all of them; `onefold settings check` checks this file.

# How columns of several types become one: lossless keeps every value, classic is the predecessor's rule.
conversions: lossless

# The zone in which a DATETIME is read where a TIMESTAMP is expected.
time_zone: UTC

# Base names, or names of versioned tables, that get no views; regular expressions.
exclude: []
"""

_EVENTS = """\
# Tables of events are versions by their labels, which the loader sets.
datasets:
  {dataset}:
    version_pattern: labels
"""

_CAPTURE = """\
# Columns that never leave a captured source. The name is that of `captures` in the file of Terraform's variables.
# captures:
#   shop:
#     tables:
#       customer: {{drop: [password]}}
"""

_PULL = """\
# The databases whose tables are pulled. `onefold sources init` reads a catalogue and drafts this block.
# sources:
#   shop:                      # begins the datasets: the database orders gives shop_orders
#     host: db.example.com
#     user: onefold
#     password: env:SHOP_PASSWORD   # or file:PATH, projects/P/secrets/S; never the password itself
#     databases: [orders]
#     tables:
#       "*": {{mode: full}}      # the whole table, once a day
"""

_TABLES = """\
# Tables that Datastream or another tool writes: what identifies a row. `onefold current` writes a view of the latest rows.
# tables:
#   {dataset}.customer:
#     keys: [id]
#     order_by: [changed_at]   # only for rows without change metadata
"""

_VARIABLES_HEAD = """\
# Terraform's variables of this deployment; infra/variables.tf describes all of them.
# Look, without changing anything:  {plan}
# Deploy:  {deploy}

# The datasets of versioned tables. They have to exist: Terraform only grants rights on them."""

_CAPTURE_VARIABLES = """\
# The captured databases, by a short name. docs/how-to/run-capture.md has the user and its rights.
# captures = {
#   shop = {
#     host    = "10.0.0.5"
#     user    = "onefold"
#     secret  = "shop-password" # the id of a secret of PROJECT, made by a person
#     dataset = "DATASET"
#   }
# }
"""

_PULL_VARIABLES = """\
# The pulled databases, by the name of the source in onefold.yaml. The dataset of each, SOURCE_DATABASE, is among `datasets`.
# pulls = {
#   shop = {
#     databases = ["orders"]
#     secret    = "shop-password" # the id of a secret of PROJECT
#   }
# }
"""

_EVENTS_VARIABLES = """\
# The registry of schemas, and the runs of the shredder that are loaded into one of `datasets`.
# schema_registry = {
#   keys = "registry-keys" # the id of a secret of PROJECT with the file of keys
# }
# events = {
#   dataset = "DATASET"
#   runs    = "gs://PROJECT-events/runs" # an existing bucket, in the location of the dataset
# }
"""
