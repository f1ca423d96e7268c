"""The names of all environment variables, with what each is for, and a check for names that are none of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from onefold.core.log import LOG_FORM
from onefold.core.problems import Problem
from onefold.core.text import shown_list
from onefold.settings import batches as batch_settings
from onefold.settings import emr as emr_settings
from onefold.settings import events as event_settings
from onefold.settings import redshift as redshift_settings
from onefold.settings import registry as registry_settings
from onefold.settings.batches import CHECKED_CONFIG, DEFAULT_CONFIG
from onefold.settings.unknown_keys import near_name

CONFIG = "ONEFOLD_CONFIG"
CAPTURES = "ONEFOLD_CAPTURES"
OWNERS = "ONEFOLD_OWNERS"
BIGQUERY_EMULATOR = "BIGQUERY_EMULATOR_HOST"
LAB_PROJECT = "local"
"""The project of the lab, for which Google's own clients would want a name."""
_PREFIX = "ONEFOLD_"

VARIABLES = {
    "ONEFOLD_PROJECT": "the project of datasets and topics; default: GOOGLE_CLOUD_PROJECT; on the lab: local",
    "ONEFOLD_DATASETS": "the datasets that messages may name, separated by commas; empty: none; default: all of the project",
    "ONEFOLD_CLEAN_DATASETS": "those of them that have a dataset of clean views, separated by commas; default: not known",
    "ONEFOLD_VIEW_DATASET": "where views live; default: {dataset}",
    "ONEFOLD_VIEW_NAME": "what a view is called; default: {table}_unified",
    "ONEFOLD_PLAIN_DATASET": "where bases and current views of plain change tables are; default: {dataset}__onefold",
    "ONEFOLD_CHANGES_DATASET": "the dataset of the ledger of changes; default: none, no change is recorded",
    "ONEFOLD_TOPIC_TABLE_CREATED": "the topic that says a versioned table is new; a check of a whole dataset fans out on it",
    "ONEFOLD_TOPIC_SCHEMA_CHANGES": "the topic for changes of a view's schema, and for what befalls tables at a source",
    "ONEFOLD_TOPIC_CHANGE_RECORDS": "the topic for rows that capture reads; default: change-records",
    "ONEFOLD_SOURCE_PASSWORD": "the password of capture's user at the source; default: --password-from",
    "ONEFOLD_HEARTBEAT": "the file that capture touches as long as it comes round; default: none",
    "ONEFOLD_METRICS_PORT": "the port at which capture answers /healthz and /metrics; default: none",
    "ONEFOLD_FLUSH_SECONDS": "how many seconds captured rows wait at most for others to share a message; default: 0.5",
    "ONEFOLD_TOPIC_DEAD_LETTER": "the topic for messages that cannot be handled; default: none, they are logged",
    "ONEFOLD_DIFFERENCES": "`log`: a compare job that finds differences logs them and exits with 0; default: exits with 2",
    "ONEFOLD_LARGE_RECORDS": "the gs:// folder of captured rows that are too large for a message; default: none",
    "ONEFOLD_PULLED_FILES": "the folder of the files of pulled tables, gs://BUCKET or file:///FOLDER; default: none",
    "ONEFOLD_PAGE_CHECKPOINTS": "the folders of captures' checkpoints, by commas, of which pages say the lag; default: none",
    "ONEFOLD_PAGES": "the folder of the pages of datasets, gs://BUCKET/FOLDER, which write_pages writes; default: none",
    "ONEFOLD_DATASET": "commands: the dataset of tables that are named without one; default: none",
    "ONEFOLD_SOURCE": "commands: the database that a command is about; default: none",
    "ONEFOLD_JSON": "commands: 1 prints JSON, as --json; default: text",
    "ONEFOLD_QUIET": "commands: 1 prints less, as --quiet; default: all",
    "ONEFOLD_VERBOSE": "commands: 1 prints more, as --verbose; default: not",
    CAPTURES: "the value of the key `captures` of onefold.yaml, as YAML or JSON, where capture has no file; default: none",
    OWNERS: "the value of the key `owners` of onefold.yaml, as YAML or JSON, where a job has no file; default: none",
    LOG_FORM: "the form of the log: json or text; default: text on a terminal, else json",
    **batch_settings.VARIABLES,
    **registry_settings.VARIABLES,
    **event_settings.VARIABLES,
    **redshift_settings.VARIABLES,
    **emr_settings.VARIABLES,
    emr_settings.ARGUMENTS: "the arguments of the shredder, as a JSON list; for the function that starts it",
    CONFIG: f"the file of the tables' settings; default: {DEFAULT_CONFIG} in the working folder, else {CHECKED_CONFIG}",
}

# Kubernetes, "Service", environment variables, https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables,
# 2026-11: for a Service named onefold, or onefold-NAME, every container of the namespace gets these.
_KUBERNETES = re.compile(
    r"ONEFOLD_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)"
)
_KUBERNETES_VALUE = re.compile(r"((tcp|udp|sctp)://)?[0-9a-f.:\[\]]+|tcp|udp|sctp")


def unknown_variables(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for each variable that begins as a setting does and is none."""
    for name in sorted(environ):
        is_ours = name.startswith(_PREFIX) and name not in VARIABLES
        if is_ours and not (_KUBERNETES.fullmatch(name) and _KUBERNETES_VALUE.fullmatch(environ[name])):
            hint = near_name(name, VARIABLES, _PREFIX)
            advice = "correct the name, or unset it" if hint else f"known are {shown_list(VARIABLES)}"
            yield Problem(f"{name} is not a setting{hint}; {advice}")
