"""Use case: write entities of the table of unknown entities into files of bad rows, which the shredder reads.

The rows of a run and a schema are in the table as a whole or not at all, and never change. So each file has an address that
follows from both, and one content; it is written once, and a run of the shredder takes it once. However often this is
repeated or killed, an entity is loaded once.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.lookup import SchemaFinder, find_each, usable_of
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.shred.runs import KEPT
from onefold.ports.kept_entities import KeptEntities, KeptEntity
from onefold.ports.objects import NEW, ObjectChanged, ObjectWriter

PAGE = 10_000
"""The rows of a file."""


@dataclass(frozen=True)
class KeptFile:
    """A file of entities: its address, their schema and their number; `new` where it was not there before."""

    address: str
    schema: str
    rows: int
    new: bool


def write_kept(
    kept: KeptEntities, address: str, known: Collection[str], objects: ObjectWriter | None, page: int = PAGE
) -> Iterator[KeptFile]:
    """Write the entities whose schema is known now; yield each file.

    Args:
        kept: the table.
        address: the folder of the runs, as `runs_address` returns it; rows of runs elsewhere stay.
        known: the URIs of the schemas that the registry has.
        objects: writes the files; None to say only what would be written.
        page: the rows of a file.

    Raises:
        TryAgain: the warehouse or the store does not answer.
    """
    for run, uri in kept.schemas():
        if uri in known and run.startswith(f"{address}/run="):
            yield from _write(kept, address, run, uri, objects, page)


def known_schemas(kept: KeptEntities, registry: SchemaFinder) -> frozenset[str]:
    """Return the URIs of the schemas of which the table has entities and that a registry has now, and can use.

    The registry is asked for each of them: some registries cannot be listed.

    Args:
        kept: the table.
        registry: the registry, or several as one.

    Raises:
        OnefoldError: the warehouse or a registry does not answer, or refuses.
    """
    keys = [SchemaKey.parse(uri) for uri in sorted({uri for _, uri in kept.schemas()})]
    found = find_each(lambda key: usable_of(registry, key), keys)
    return frozenset(key.uri for key, schema in zip(keys, found, strict=True) if isinstance(schema, JsonSchema))


def folders_elsewhere(kept: KeptEntities, address: str, known: Collection[str]) -> list[str]:
    """Return the other folders of runs of which the table has entities whose schema is known now.

    Args:
        kept: the table.
        address: the folder of the runs, as for `write_kept`.
        known: the URIs of the schemas that the registry has.

    Raises:
        TryAgain: the warehouse does not answer.
    """
    runs = [run for run, uri in kept.schemas() if uri in known]
    return sorted({run.rpartition("/run=")[0] or run for run in runs if not run.startswith(f"{address}/run=")})


def _write(
    kept: KeptEntities, address: str, run: str, uri: str, objects: ObjectWriter | None, page: int
) -> Iterator[KeptFile]:
    start = 0
    digest = hashlib.sha256(uri.encode()).hexdigest()[:32]
    while rows := kept.page(run, uri, start, page):
        place = f"{address}/{KEPT}/{run.rpartition('/')[2]}/{digest}-{start // page:05}.json"
        data = "".join(f"{_line(uri, row)}\n" for row in rows).encode()
        yield KeptFile(place, uri, len(rows), _create(objects, place.removeprefix("file://"), data))
        start += page


def _create(objects: ObjectWriter | None, address: str, data: bytes) -> bool:
    if objects is None:
        return True
    try:
        objects.write(address, data, NEW)
    except ObjectChanged:  # an earlier call has written it
        return False
    return True


def _line(uri: str, row: KeptEntity) -> str:
    """Return the bad row of an entity. Its data is put in as the text that it is: no digit of a number is lost."""
    reasons = [f"the registry had no {uri} when the entity was kept in unknown_entities"]
    entity = {
        "root_id": row.root_id, "root_tstamp": f"{row.root_tstamp.isoformat()}Z", "app_id": None, "place": row.place,
        "schema": uri,
    }  # fmt: skip
    start = json.dumps({"kind": "unknown_schema", "reasons": reasons}, ensure_ascii=False, separators=(",", ":"))
    fields = json.dumps(entity, ensure_ascii=False, separators=(",", ":"))
    return f'{start[:-1]},"entity":{fields[:-1]},"data":{row.data},"kept":true}}}}'
