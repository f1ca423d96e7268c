"""The settings of Spark batches: region, account and code of a batch, and the folders that messages may name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from onefold.core.errors import InvalidSettings
from onefold.core.problems import Problem
from onefold.core.text import shown_list

VARIABLES = {
    "ONEFOLD_BATCH_REGION": "the region in which batches run, as europe-west1",
    "ONEFOLD_BATCH_RUNTIME_VERSION": "the Dataproc Serverless runtime; default: 3.0",
    "ONEFOLD_BATCH_SERVICE_ACCOUNT": "whom batches run as",
    "ONEFOLD_BATCH_SOURCE_ACCOUNTS": "whom batches that pull a source run as, as source=email,source=email",
    "ONEFOLD_BATCH_SOURCE_BUCKETS": "the staging buckets of batches that pull a source, as source=bucket,source=bucket",
    "ONEFOLD_BATCH_CHECKPOINTS": "the checkpoints of captured sources, as source=folder,source=folder",
    "ONEFOLD_BATCH_SUBNET": "the subnetwork they run in; default: that of the network `default`",
    "ONEFOLD_BATCH_BUCKET": "the staging bucket's name; default: Dataproc's own",
    "ONEFOLD_BATCH_KMS_KEY": "the Cloud KMS key for what batches write to disk; default: Google's own keys",
    "ONEFOLD_BATCH_PROPERTIES": "Spark properties, as name=value,name=value or as a JSON object",
    "ONEFOLD_BATCH_LABELS": "labels of batches besides those of Onefold, as key=value,key=value",
    "ONEFOLD_BATCH_TTL": "when a batch is ended, as 90m, 4h or 2d; default: Dataproc's own, 4 hours",
    "ONEFOLD_BATCH_FOLDERS": "gs:// and s3:// folders that messages may name, with commas; default: those of the bucket",
    "ONEFOLD_BATCH_CODE": "the gs:// folder of the jobs and of spark.zip",
}

DEFAULT_CONFIG = "onefold.yaml"
"""The file of the tables' settings, in the working folder of the process that reads it."""
CHECKED_CONFIG = "onefold.checked.json"
"""Its checked form, which functions and jobs have instead."""

PASSED_ON = (
    "ONEFOLD_PROJECT",
    "ONEFOLD_DATASETS",
    "ONEFOLD_CLEAN_DATASETS",
    "ONEFOLD_VIEW_DATASET",
    "ONEFOLD_VIEW_NAME",
    "ONEFOLD_PLAIN_DATASET",
    "ONEFOLD_TOPIC_TABLE_CREATED",
    "ONEFOLD_TOPIC_SCHEMA_CHANGES",
    "ONEFOLD_CHANGES_DATASET",
    "ONEFOLD_DIFFERENCES",
    "ONEFOLD_PULLED_FILES",
    "ONEFOLD_BATCH_CHECKPOINTS",
)
"""Settings that jobs read, too. A merge refreshes views: it has to find them where the functions created them, and announces
and records their changes. A comparison has to know how to report differences, a pull where files go and who learns of
versions, and a check where captures take requests for copies."""

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_TTL = re.compile(r"([0-9]{1,5})([mhd])")
# Dataproc Serverless, "EnvironmentConfig", ttl: the minimum is 10 minutes, the maximum 14 days.
MIN_TTL, MAX_TTL = timedelta(minutes=10), timedelta(days=14)

_REGION = re.compile(r"[a-z]+-[a-z]+[0-9]+")
_VERSION = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")
_SERVICE_ACCOUNT = re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com")
_SUBNET = re.compile(
    r"(https://www\.googleapis\.com/compute/v1/)?(projects/[a-z0-9.:-]+/regions/[a-z0-9-]+/subnetworks/)?[a-z][a-z0-9-]*"
)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_KMS_KEY = re.compile(r"projects/[a-z0-9.:-]+/locations/[a-z0-9-]+/keyRings/[\w-]{1,63}/cryptoKeys/[\w-]{1,63}", re.ASCII)
_PROPERTY = re.compile(r"(spark|dataproc)\.[A-Za-z0-9_.-]+")
_LABEL = re.compile(r"(?!onefold_)[a-z][a-z0-9_-]{0,62}=[a-z0-9_-]{0,63}")
MAX_LABELS = 28
"""Dataproc allows 32 labels on a batch, and Onefold sets four."""
FOLDER = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](/[\w.=+@~-]+)*/?")
"""A folder in a bucket, without characters that Spark would expand (`*`, `{a,b}`) or read as a separator."""
_CHECKPOINT = re.compile(rf"{FOLDER.pattern}|/.+")
PLACE = re.compile(FOLDER.pattern.replace("gs", "(?:gs|s3)", 1))
"""A folder in a bucket of Cloud Storage or of S3."""


@dataclass(frozen=True)
class BatchSettings:
    """The settings of batches; None where a variable is not set.

    Attributes:
        region: the region in which batches run.
        runtime_version: the version of the Dataproc Serverless runtime.
        service_account: the account as which batches run.
        source_accounts: the accounts as which batches run that pull a source, by the name of the source.
        source_buckets: the staging buckets of batches that pull a source, by the name of the source.
        checkpoints: the folders of the checkpoints of captures, by the `source_name` of their rows: a check of captured
            tables asks for copies there.
        subnet: the subnetwork in which batches run.
        bucket: the staging bucket, without gs://.
        kms_key: the Cloud KMS key that encrypts what batches write to disk.
        properties: properties of Spark and Dataproc.
        labels: labels of batches, besides those of Onefold.
        ttl: the age at which Dataproc ends a batch.
        folders: the gs:// and s3:// folders that messages may name.
        code: the gs:// folder of the jobs and of spark.zip.
        passed_on: variables of this environment that a job gets, too.
        config: True where there is an onefold.yaml: then the folder of the code has its checked form for the jobs.
    """

    region: str | None = None
    runtime_version: str = "3.0"
    service_account: str | None = None
    subnet: str | None = None
    bucket: str | None = None
    kms_key: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    ttl: timedelta | None = None
    folders: tuple[str, ...] = ()
    code: str | None = None
    passed_on: Mapping[str, str] = field(default_factory=dict)
    config: bool = False
    source_accounts: Mapping[str, str] = field(default_factory=dict)
    source_buckets: Mapping[str, str] = field(default_factory=dict)
    checkpoints: Mapping[str, str] = field(default_factory=dict)

    def check_complete(self) -> None:
        """Check that every variable is set that a batch needs.

        Raises:
            InvalidSettings: variables are not set; the error lists all of them.
        """
        needed = ("region", "service_account", "code")
        missing = [f"ONEFOLD_BATCH_{name.upper()}" for name in needed if not getattr(self, name)]
        if missing:
            raise InvalidSettings([f"{name} is not set: {VARIABLES[name]}" for name in missing])


def batch_problems(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the variables."""
    for name, (pattern, example) in _FORMS.items():
        value = environ.get(f"ONEFOLD_BATCH_{name}")
        if value and (not pattern.fullmatch(value) or ".." in value):
            yield Problem(f"ONEFOLD_BATCH_{name} {value!r}: write it as {example}")
    for name, parse in _PARSERS.items():
        try:
            parse(environ.get(f"ONEFOLD_BATCH_{name}", ""))
        except (ValueError, RecursionError) as error:
            yield Problem(str(error), file=f"ONEFOLD_BATCH_{name}")
    for folder in _listed(environ):
        if not PLACE.fullmatch(folder) or ".." in folder:
            yield Problem(f"{folder!r} is not a folder: write gs://bucket/folder", file="ONEFOLD_BATCH_FOLDERS")


def read_batch_settings(environ: Mapping[str, str]) -> BatchSettings:
    """Return the settings of the variables, which `batch_problems` checks.

    Args:
        environ: the environment variables.
    """

    def read(name: str) -> str | None:
        return environ.get(f"ONEFOLD_BATCH_{name}") or None

    def parsed(name: str) -> Any:
        return _PARSERS[name](read(name) or "")

    bucket = read("BUCKET")
    folders = _listed(environ) or ([f"gs://{bucket}"] if bucket else [])
    return BatchSettings(
        region=read("REGION"),
        runtime_version=read("RUNTIME_VERSION") or BatchSettings.runtime_version,
        service_account=read("SERVICE_ACCOUNT"),
        source_accounts=parsed("SOURCE_ACCOUNTS"),
        source_buckets=parsed("SOURCE_BUCKETS"),
        checkpoints=parsed("CHECKPOINTS"),
        subnet=read("SUBNET"),
        bucket=bucket,
        kms_key=read("KMS_KEY"),
        properties=parsed("PROPERTIES"),
        labels=parsed("LABELS"),
        ttl=parsed("TTL"),
        folders=tuple(folder.rstrip("/") for folder in folders),
        code=(read("CODE") or "").rstrip("/") or None,
        passed_on={name: environ[name] for name in PASSED_ON if environ.get(name)},
    )


def _ttl(text: str) -> timedelta | None:
    if not text:
        return None
    match = _TTL.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a time: write it as 90m, 4h or 2d")
    ttl = timedelta(**{_UNITS[match[2]]: int(match[1])})
    if not MIN_TTL <= ttl <= MAX_TTL:
        raise ValueError(f"{text!r} is not between 10m and 14d")
    return ttl


def _properties(text: str) -> dict[str, str]:
    pairs = json.loads(text, object_pairs_hook=list) if text.lstrip().startswith("{") else _split(text)
    properties = {name: value for name, value in pairs if isinstance(value, str) and value.isprintable()}
    if len(properties) < len(pairs):
        raise ValueError("each name comes once, and each value is a line of text (in JSON: in quotes)")
    wrong = [name for name in properties if not _PROPERTY.fullmatch(name)]
    if wrong:
        raise ValueError(f"{shown_list(map(repr, wrong))}: the names of properties begin with spark. or dataproc.")
    return properties


def _accounts(text: str) -> dict[str, str]:
    return _by_source(text, _SERVICE_ACCOUNT, "name@project.iam.gserviceaccount.com")


def _buckets(text: str) -> dict[str, str]:
    return _by_source(text, _BUCKET, "bucket, without gs://")


def _checkpoints(text: str) -> dict[str, str]:
    return _by_source(text, _CHECKPOINT, "gs://bucket/folder, or a folder of this machine")


def _by_source(text: str, pattern: re.Pattern[str], example: str) -> dict[str, str]:
    values = dict(_split(text))
    wrong = [f"{source}={value}" for source, value in values.items() if not pattern.fullmatch(value)]
    if wrong:
        raise ValueError(f"{shown_list(map(repr, wrong))}: write source={example}")
    return values


def _labels(text: str) -> dict[str, str]:
    pairs = _split(text)
    wrong = [f"{key}={value}" for key, value in pairs if not _LABEL.fullmatch(f"{key}={value}")]
    if wrong:
        raise ValueError(
            f"{shown_list(map(repr, wrong))}: keys and values are lower-case letters, digits, _ and -, of up to 63 "
            "characters; keys begin with a letter, and not with onefold_, as those of Onefold do"
        )
    if len(pairs) > MAX_LABELS:
        raise ValueError(f"a batch takes {MAX_LABELS} labels besides those of Onefold, and these are {len(pairs)}")
    return dict(pairs)


def _split(text: str) -> list[tuple[str, str]]:
    parts = [part.partition("=") for part in text.split(",") if part.strip()]
    if not all(sign for _, sign, _ in parts):
        raise ValueError("write name=value,name=value; where a value holds a comma, a JSON object")
    return [(name.strip(), value.strip()) for name, _, value in parts]


def _listed(environ: Mapping[str, str]) -> list[str]:
    return [name.strip() for name in environ.get("ONEFOLD_BATCH_FOLDERS", "").split(",") if name.strip()]


_FORMS = {
    "BUCKET": (_BUCKET, "the name of a bucket, without gs://"),
    "CODE": (FOLDER, "gs://bucket/folder"),
    "REGION": (_REGION, "europe-west1"),
    "RUNTIME_VERSION": (_VERSION, "3.0"),
    "SERVICE_ACCOUNT": (_SERVICE_ACCOUNT, "name@project.iam.gserviceaccount.com"),
    "SUBNET": (_SUBNET, "its name, or projects/PROJECT/regions/REGION/subnetworks/NAME"),
    "KMS_KEY": (_KMS_KEY, "projects/P/locations/REGION/keyRings/R/cryptoKeys/K"),
}
"""The variables that are one text: a pattern of it, and an example."""
_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "SOURCE_ACCOUNTS": _accounts,
    "SOURCE_BUCKETS": _buckets,
    "CHECKPOINTS": _checkpoints,
    "PROPERTIES": _properties,
    "LABELS": _labels,
    "TTL": _ttl,
}
"""The variables with more in them: what returns their value, or raises ValueError."""
