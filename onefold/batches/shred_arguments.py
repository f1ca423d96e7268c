"""The arguments of `spark_jobs/shred.py`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from onefold.batches.parsers import shred_parser
from onefold.core.errors import InvalidInput
from onefold.core.text import shortened

ShredFormat = Literal["csv", "parquet"]
ShredInput = Literal["self-describing", "enriched-tsv", "enriched-json"]
FORMATS: tuple[ShredFormat, ...] = get_args(ShredFormat)
INPUTS: tuple[ShredInput, ...] = get_args(ShredInput)
_PLACE = re.compile(r"(?:gs|s3a?)://[^/\s*?\[\]{}]+(?:/\S*)?|file:/\S*|[^:\s]+")
"""A bucket with a folder, or a folder of this machine. A name of a bucket is never a pattern."""
_REGISTRY = re.compile(r"https?://\S+")
_PATTERN = re.compile(r"[*?\[\]{}\\]")
_ONLY_STARS = re.compile(r"[\[\]{}\\]")


@dataclass(frozen=True)
class ShredArguments:
    """The arguments of `spark_jobs/shred.py`.

    Attributes:
        events: files and folders of events; `*` and `?` match within a name.
        registry: the address of the registry.
        output: the folder of the runs.
        format: the format of the rows.
        input: the form of the events.
        dry_run: count only, write nothing.
    """

    events: tuple[str, ...]
    registry: str
    output: str
    format: ShredFormat
    input: ShredInput
    dry_run: bool = False


def parse_shred(words: Sequence[str]) -> ShredArguments:
    """Return the arguments of `spark_jobs/shred.py`.

    Raises:
        InvalidInput: everything that is wrong with them.

    Examples:
        >>> words = ["--events=gs://in/good/*", "--registry=gs://r", "--output=gs://out/runs", "--format=csv"]
        >>> parse_shred([*words, "--input=enriched-tsv"]).events
        ('gs://in/good/*',)
    """
    found = shred_parser(FORMATS, INPUTS).parse_args(list(words))
    events = tuple(one for text in found.events for one in text.split(",") if one)
    problems = [] if events else ["--events: expected files or folders, got an empty text"]
    problems += [problem for text in events for problem in _problems("--events", text, _ONLY_STARS)]
    problems += _problems("--output", found.output, _PATTERN)
    problems += [] if _REGISTRY.fullmatch(found.registry) else _problems("--registry", found.registry, _PATTERN)
    if problems:
        raise InvalidInput(problems)
    return ShredArguments(
        events, found.registry.rstrip("/"), _trimmed(found.output), found.format, found.input, found.dry_run
    )


def _trimmed(folder: str) -> str:
    return folder.rstrip("/") or folder


def _problems(option: str, text: str, not_allowed: re.Pattern[str]) -> list[str]:
    """Return what is wrong with a place.

    Args:
        option: the option that names it.
        text: the place.
        not_allowed: characters that file systems would read as a pattern.
    """
    if not _PLACE.fullmatch(text):
        return [f"{option} {shortened(text)}: expected gs://bucket/folder, s3://bucket/folder, file:/folder or a path"]
    if found := not_allowed.search(text):
        return [f"{option} {shortened(text)}: expected a name without {found[0]!r}: it would be read as a pattern"]
    return []
