"""The key with which capture hashes columns: that of `captures` in onefold.yaml, or the key of the clean views."""

from __future__ import annotations

from collections.abc import Mapping

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.adapters.secrets import read_secret
from onefold.core.errors import InvalidInput, Rejected
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.settings.environment import Settings


def read_capture_key(
    source: str, dataset: str, settings: Settings, warehouse: BigQueryWarehouse, environ: Mapping[str, str]
) -> HashKey | None:
    """Return the key of a captured source; None where nothing is hashed.

    Args:
        source: the source, as `captures` in onefold.yaml names it.
        dataset: the dataset into which it is captured.
        settings: those of the installation.
        warehouse: has the key of the clean views.
        environ: the environment, which may hold the key.

    Raises:
        InvalidInput: the key is missing or invalid.
        Rejected: the key may not be read.
    """
    found = settings.captures.get(source)
    if found is None or not found.hashes:
        return None
    if found.hash_key:
        return HashKey.parse(read_secret(found.hash_key, environ, "key of hashes"), f"captures.{source}.hash_key")
    return _stored_key(f"captures.{source}", dataset, settings, warehouse)


def _stored_key(where: str, dataset: str, settings: Settings, warehouse: BigQueryWarehouse) -> HashKey:
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
