"""Tables that another loader made, adopted by the command and filled by the real shredder and the real loader."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from support.cli import Run
from support.redshift_runs import ENVELOPE
from support.redshift_scene import RedshiftScene
from support.redshift_server import SCHEMA, RedshiftServer
from support.shred_oracle import time_of
from support.shredded_runs import shredded_table

from onefold.adapters.folder_objects import FolderObjects
from onefold.core.shred_options import FileFormat
from onefold.events.registry.adopted import read_adopted
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.registry import Registry
from onefold.events.shred.plan import plan_shred
from onefold.events.shred.shredder import Shredder

Columns = Sequence[tuple[str, str]]
_SPELLED = {"VARCHAR": "VARCHAR(256)", "FLOAT": "DOUBLE PRECISION", "INTEGER": "INT"}
"""Types as Redshift reads them."""


def make_table(server: RedshiftServer, name: str, columns: Columns, required: Sequence[str] = ()) -> None:
    """Create a table; a type may end with DEFAULT and a value."""
    lines = [
        f'"{column}" {_SPELLED.get(type_, type_)}{" NOT NULL" if column in required else ""}' for column, type_ in columns
    ]
    with server.connect() as connection:
        connection.execute(f'CREATE TABLE "{SCHEMA}"."{name}" ({", ".join(lines)})'.encode())


def with_envelope(*columns: tuple[str, str]) -> list[tuple[str, str]]:
    return [*ENVELOPE, *columns]


def svv_columns(server: RedshiftServer, table: str) -> str:
    fields = "table_schema table_name column_name ordinal_position data_type is_nullable column_default"
    sizes = "character_maximum_length numeric_precision numeric_scale"
    names = [*fields.split(), *sizes.split()]
    found = server.query(f"SELECT {', '.join(names)} FROM svv_columns WHERE table_name = '{table}'")
    return json.dumps([dict(zip(names, row, strict=True)) for row in found])


def write_registry(folder: Path, schemas: Sequence[JsonSchema]) -> None:
    for schema in schemas:
        file = folder / "schemas" / schema.key.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(schema.canonical)


def adopt(
    run: Run, server: RedshiftServer, folder: Path, versions: Sequence[JsonSchema], table: str, *more: object
) -> tuple[int, list[dict[str, str]]]:
    """Adopt a table by the command, and return its exit code and the differences that it lists."""
    file = folder / "columns.json"
    file.write_text(svv_columns(server, table))
    order = ",".join(str(one.key.version) for one in versions)
    words = ("schema", "adopt", versions[0].key.model_key, "--table", f"{SCHEMA}.{table}", "--columns", file)
    done = run(*words, "--registry", folder, "--order", order, "--record", "--json", *more)
    return done.code, list(done.results)


def registry_with_adopted(folder: Path, schemas: Sequence[JsonSchema]) -> Registry:
    """Return the registry that a job reads: schemas in the order that is given, and the adopted tables of the folder."""
    models = {key: tuple(one for one in schemas if one.key.model_key == key) for key in {s.key.model_key for s in schemas}}
    return Registry(models, str(folder), adopted=read_adopted(str(folder), FolderObjects(folder)))


def shred_run(
    scene: RedshiftScene,
    second: int,
    registry: Registry,
    events: Sequence[dict[str, Any]],
    format_: FileFormat = "csv",
) -> list[str]:
    """Write a run of events, and return the reasons of its bad rows."""
    plan = plan_shred(registry, format_, "self-describing", warehouse="redshift")
    shredder = Shredder(plan)
    rows: dict[int, list[Any]] = defaultdict(list)
    bad: list[str] = []
    for one in events:
        found = shredder.shred(json.dumps(one))
        bad += [str(found.bad)] if found.bad else []
        for place, row in found.rows:
            rows[place].append(f"{row}\n" if format_ == "csv" else row)
    tables = [(shredded_table(plan.tables[place]), some) for place, some in rows.items()]
    counted = {"bad": {"does_not_fit": len(bad)} if bad else {}, "events": len(events)}
    write = scene.write_lines if format_ == "csv" else scene.write_values
    write(second, tables, **counted)
    return bad


def is_same(value: Any, stored: Any) -> bool:
    """Tell whether a column has a value of JSON; texts of CHAR are filled up with blanks."""
    match stored:
        case None:
            return value is None
        case bool() | int() | float() | Decimal():
            return bool(stored == value or Decimal(str(stored)) == Decimal(str(value)))
        case datetime():
            utc = stored.astimezone(UTC).replace(tzinfo=None) if stored.tzinfo else stored
            text = f"{value}T00:00:00Z" if len(value) == len("2026-11-23") else value
            return time_of(text) == time_of(f"{utc.isoformat()}Z")
        case date():
            return bool(stored.isoformat() == value)
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return bool(stored.rstrip(" ") == text.rstrip(" "))
