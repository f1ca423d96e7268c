"""The rules of columns that a capture applies, with the key of its hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from onefold.core.errors import InvalidInput, Rejected
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.settings.environment import Settings

if TYPE_CHECKING:
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
    known = ", ".join(sorted(settings.captures))
    return (
        f"source {source} has no entry under `captures` in onefold.yaml, so all of its columns land as they are; there are "
        f"entries of {known}: correct --source or the entry, or leave it if the source needs no rules"
    )


def with_rules(options: CaptureOptions, settings: Settings, warehouse: Any, environ: Mapping[str, str]) -> CaptureOptions:
    """Return the options of a capture with the rules that onefold.yaml has for its source.

    Args:
        options: the options, with the names of source and dataset.
        settings: those of the installation.
        warehouse: reads the key of the clean views of the dataset.
        environ: the environment, which may hold the key.

    Raises:
        InvalidInput: there is no key, or it is none.
        Rejected: the key may not be read.
    """
    from onefold.capture.landing import LandingRules

    found = settings.captures.get(options.source)
    if found is None:
        return options
    key = None
    if found.hash_key and found.hashes:
        key = _secret_key(found.hash_key, f"captures.{options.source}.hash_key", environ)
    elif found.hashes:
        key = _stored_key(options, settings, warehouse)
    return replace(options, rules=LandingRules(found.rules, key))


def _secret_key(reference: str, where: str, environ: Mapping[str, str]) -> HashKey:
    from onefold.adapters.secrets import read_secret

    return HashKey.parse(read_secret(reference, environ, "key of hashes"), where)


def _stored_key(options: CaptureOptions, settings: Settings, warehouse: Any) -> HashKey:
    from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys

    where, dataset = f"captures.{options.source}", options.dataset
    table = settings.key_table_of(TableId(warehouse.project, dataset, ""))
    try:
        key = BigQueryHashKeys(warehouse.client).read(table)
    except Rejected as error:
        raise Rejected(f"{where} hashes columns with the key of {table}, which cannot be read: {error}") from error
    if key is None:
        raise InvalidInput(
            f"{where} hashes columns with the key of {table}, which has none: run `onefold policies key {dataset}`"
        )
    return key
