"""The settings of the function that loads events into Redshift."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onefold.core.errors import InvalidSettings

_RUNS = "ONEFOLD_EVENTS_RUNS"
_SINCE = "ONEFOLD_EVENTS_SINCE"
_PREFIX = "ONEFOLD_REDSHIFT_"
_EXTERNAL = ("ONEFOLD_EXTERNAL_CATALOG", "ONEFOLD_EXTERNAL_SCHEMA", "ONEFOLD_EXTERNAL_VIEWS")
VARIABLES = {
    "ONEFOLD_EVENTS_SINCE": "the first run that the function on AWS loads, or the beginning of its name; default: all runs",
    "ONEFOLD_REDSHIFT_DATABASE": "the database of the tables of events in Redshift",
    "ONEFOLD_REDSHIFT_SCHEMA": "the schema of these tables",
    "ONEFOLD_REDSHIFT_ROLE": "the role with which COPY of Redshift reads the files of runs, by its ARN",
    "ONEFOLD_REDSHIFT_WORKGROUP": "the workgroup of Redshift Serverless; default: a cluster",
    "ONEFOLD_REDSHIFT_CLUSTER": "the provisioned cluster of Redshift; default: a workgroup",
    "ONEFOLD_REDSHIFT_SECRET": "the secret of AWS with user and password, by its ARN; default: sign in by IAM",
    "ONEFOLD_EXTERNAL_CATALOG": "the database of the Glue Data Catalog for external tables over runs; default: none",
    "ONEFOLD_EXTERNAL_SCHEMA": "the schema of the external tables, which goes with the catalogue",
    "ONEFOLD_EXTERNAL_VIEWS": "the schema of the views over loaded and external tables, which goes with the catalogue",
}
_REQUIRED = (_RUNS, *(f"{_PREFIX}{name}" for name in ("DATABASE", "SCHEMA", "ROLE")))


@dataclass(frozen=True)
class RedshiftSettings:
    """Where runs are and what becomes of them.

    Attributes:
        runs: their folder.
        connection: the fields of the connection to Redshift: those that are set.
        since: the first run that is loaded, or the beginning of its name; empty for all.
        external: the catalogue of external tables, the schema of these and that of the views; None where there are none.
    """

    runs: str
    connection: Mapping[str, str]
    since: str = ""
    external: tuple[str, str, str] | None = None


def read_redshift(environ: Mapping[str, str]) -> RedshiftSettings:
    """Return the settings of the variables; the connection checks their values.

    Raises:
        InvalidSettings: a variable that is required is not set; the error lists all of them.
    """
    catalog, schema, views = (environ.get(name, "") for name in _EXTERNAL)
    is_external = bool(catalog or schema or views)
    required = (*_REQUIRED, *(_EXTERNAL if is_external else ()))
    missing = [f"{name} is not set: set it, as infra/aws does" for name in required if not environ.get(name)]
    if missing:
        raise InvalidSettings(missing)
    named = [name for name in VARIABLES if name.startswith(_PREFIX) and environ.get(name)]
    given = {name.removeprefix(_PREFIX).lower(): environ[name] for name in named}
    external = (catalog, schema, views) if is_external else None
    return RedshiftSettings(environ[_RUNS], given, environ.get(_SINCE, ""), external)
