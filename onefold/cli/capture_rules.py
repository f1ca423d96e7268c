"""The rules of columns that a capture applies, with the key of its hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from onefold.core.text import shown_list
from onefold.settings.environment import Settings

if TYPE_CHECKING:
    from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
    from onefold.capture.options import CaptureOptions


def missing_rules(settings: Settings, source: str) -> str | None:
    """Return a warning where onefold.yaml has rules of columns, and none for this source: its name may be misspelled.

    Args:
        settings: those of the installation.
        source: the name of the source.

    Examples:
        >>> missing_rules(Settings(), "shop-db") is None
        True
    """
    if source in settings.captures or not settings.captures:
        return None
    known = shown_list(sorted(settings.captures))
    return (
        f"source {source} has no entry under `captures` in onefold.yaml, so all of its columns land as they are; there are "
        f"entries of {known}: correct --source or the entry, or leave it if the source needs no rules"
    )


def with_rules(
    options: CaptureOptions, settings: Settings, warehouse: BigQueryWarehouse, environ: Mapping[str, str]
) -> CaptureOptions:
    """Return the options of a capture with the rules that onefold.yaml has for its source.

    Args:
        options: the options, with the names of source and dataset.
        settings: those of the installation.
        warehouse: reads the key of the clean views of the dataset.
        environ: the environment, which may hold the key.

    Raises:
        InvalidInput: the key is missing or invalid.
        Rejected: the key may not be read.
    """
    from onefold.adapters.capture_keys import read_capture_key
    from onefold.landing.row_writer import LandingRules

    found = settings.captures.get(options.source)
    if found is None:
        return options
    key = read_capture_key(options.source, options.dataset, settings, warehouse, environ)
    return replace(options, rules=LandingRules(found.rules, key))
