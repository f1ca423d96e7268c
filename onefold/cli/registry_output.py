"""The JSON of the commands on a registry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click


def echo_results(results: Sequence[Any]) -> None:
    """Print the entries of a command's `--json`, one for each thing that it worked on."""
    click.echo(json.dumps(results, ensure_ascii=False))
