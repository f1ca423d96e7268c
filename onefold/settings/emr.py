"""The settings of jobs on EMR Serverless: where a job runs, as whom, with which code, and where its log is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onefold.core.errors import InvalidSettings

VARIABLES = {
    "ONEFOLD_EMR_APPLICATION": "the application of EMR Serverless that runs the shredder, by its id",
    "ONEFOLD_EMR_ROLE": "the role of its jobs, by its ARN",
    "ONEFOLD_EMR_CODE": "the s3:// folder of the code of the jobs",
    "ONEFOLD_EMR_LOG": "the log group of CloudWatch with what jobs print",
    "ONEFOLD_EMR_MINUTES": "after how many minutes a job is ended; default: 180",
}
ARGUMENTS = "ONEFOLD_EMR_ARGUMENTS"
"""The arguments of the shredder, as a JSON list; only the function that starts it has them."""
_FORMS = {
    "APPLICATION": (re.compile(r"[0-9a-z]{1,64}"), "its id, such as 00f1abcdefgh2k01"),
    "ROLE": (re.compile(r"arn:[a-z-]+:iam::[0-9]{12}:role/[\w+=,.@/-]+", re.ASCII), "arn:aws:iam::ACCOUNT:role/NAME"),
    "CODE": (re.compile(r"s3://[a-z0-9][a-z0-9.-]+[a-z0-9](/[\w.=+-]+)+", re.ASCII), "s3://bucket/folder"),
    "LOG": (re.compile(r"[\w./#-]{1,512}", re.ASCII), "the name of a log group, such as /onefold/shredder"),
    "MINUTES": (re.compile(r"[1-9][0-9]{0,4}"), "a whole number, such as 180"),
}
_DEFAULTS = {"MINUTES": "180"}


@dataclass(frozen=True)
class EmrSettings:
    """Where jobs run.

    Attributes:
        application: the id of the application.
        role: the ARN of the role of jobs.
        code: the folder of the code, s3://BUCKET/FOLDER.
        log: the log group.
        minutes: after which a job is ended.
    """

    application: str
    role: str
    code: str
    log: str
    minutes: int


def read_emr(environ: Mapping[str, str]) -> EmrSettings:
    """Return the settings of the variables.

    Raises:
        InvalidSettings: variables are not set, or not valid; the error lists all of them.
    """
    given = {name: environ.get(f"ONEFOLD_EMR_{name}") or _DEFAULTS.get(name, "") for name in _FORMS}
    if problems := list(_problems(given)):
        raise InvalidSettings(problems)
    return EmrSettings(given["APPLICATION"], given["ROLE"], given["CODE"], given["LOG"], int(given["MINUTES"]))


def _problems(given: Mapping[str, str]) -> Iterator[str]:
    for name, (pattern, example) in _FORMS.items():
        variable = f"ONEFOLD_EMR_{name}"
        if not given[name]:
            yield f"{variable} is not set: set it to {VARIABLES[variable]}, as the output `emr` of infra/aws has it"
        elif not pattern.fullmatch(given[name]):
            yield f"{variable} {given[name]!r}: write it as {example}"


def read_words(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the arguments of the shredder.

    Raises:
        InvalidSettings: the variable is not set, or is not a list of texts.
    """
    text = environ.get(ARGUMENTS) or ""
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        words = None
    if not (isinstance(words, list) and words and all(isinstance(word, str) for word in words)):
        raise InvalidSettings([f"{ARGUMENTS} {text!r}: write it as a JSON list of texts, as infra/aws does"])
    return tuple(words)
