"""Checks of this machine: Python, packages, Java, and the emulators that the environment names."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from onefold.core.extras import EXTRAS
from onefold.core.network import refusal
from onefold.doctor.check import Check, not_checked
from onefold.doctor.java import java_hint, java_version

LEAST_PYTHON = (3, 11)
EMULATORS = {
    "BIGQUERY_EMULATOR_HOST": "onefold local start",
    "DATAPROC_EMULATOR_HOST": "onefold local start",
    "PUBSUB_EMULATOR_HOST": "gcloud beta emulators pubsub start",
    "STORAGE_EMULATOR_HOST": "the stand-in of Cloud Storage",
}
"""The variables that name an emulator, with the command that starts one."""


def machine_checks(environ: Mapping[str, str], version: tuple[int, ...] = tuple(sys.version_info[:3])) -> Iterator[Check]:
    """Check this machine.

    Args:
        environ: the environment variables.
        version: the version of Python.
    """
    yield _python(version)
    missing = sorted({extra for package, extra in EXTRAS.items() if find_spec(package) is None})
    yield Check("packages", note=f"missing extras: {', '.join(missing)}" if missing else "all extras are installed")
    yield _java("spark" not in missing)
    for variable, command in EMULATORS.items():
        if host := environ.get(variable):
            yield _emulator(variable, host, command)


def _python(version: tuple[int, ...]) -> Check:
    found = ".".join(map(str, version))
    if version[:2] >= LEAST_PYTHON:
        return Check("Python", note=found)
    return Check("Python", (f"expected Python 3.11 or later, got {found}; run: make install PYTHON=python3.12",))


def _java(needed: bool) -> Check:
    """Check Java, which Spark needs. Without Spark no batch runs on this machine."""
    if not needed:
        return not_checked("Java", "no Spark is installed that would need it")
    hint = java_hint()
    return Check("Java", (hint,)) if hint else Check("Java", note=str(java_version()))


def _emulator(variable: str, host: str, command: str) -> Check:
    if reason := refusal(host):
        fix = f"start it: {command}, or run: unset {variable}"
        return Check(variable, (f"nothing answers at {host} ({reason}); {fix}",))
    return Check(variable, note=f"{host} answers")
