"""The manifest of a folder that a job has written: what the rows were made of and which files hold them.

`_onefold.json` is the manifest; `_SUCCESS` is written last. A folder without `_SUCCESS` is unfinished: no job reads it, and
the job that began it empties it and starts again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onefold.core.errors import InvalidInput
from onefold.core.text import reason_of
from onefold.schema.columns import Column, Schema
from onefold.schema.types import Type, parse_type
from onefold.spark.io.files import rows_in
from onefold.spark.io.filesystem import Folder

MANIFEST, SUCCESS = "_onefold.json", "_SUCCESS"
TEMPORARY, STAGED, OWNER_MARK = "_temporary", "winners-", "_job-"
POSITIONS = 2
"""The present way to write positions. Way 1 ordered some sequences and sort keys of hexadecimal form as text."""
_WRITTEN_BY_JOBS = ("part-", TEMPORARY, ".", MANIFEST, OWNER_MARK)
"""The prefixes of the names of all files that an unfinished job leaves."""


@dataclass(frozen=True)
class OutputManifest:
    """What the rows of a folder were made of.

    arguments: the job's arguments.
    columns: with their BigQuery types, some of which are text in the files.
    landed_types: by column name, the types in which the column's values landed.
    files: the files that hold the rows.
    positions: the way in which positions are written, see POSITIONS.
    """

    arguments: Mapping[str, Any]
    keys: tuple[str, ...]
    columns: Schema = field(default_factory=Schema)
    landed_types: Mapping[str, tuple[Type, ...]] | None = None
    files: tuple[str, ...] = ()
    report: Mapping[str, Any] | None = None
    positions: int = POSITIONS

    def to_json(self) -> str:
        landed_types = self.landed_types or {}
        columns = [
            {
                "name": column.name,
                "type": str(column.type),
                "landed": [str(type_) for type_ in landed_types.get(column.name, ())],
            }
            for column in self.columns
        ]
        content = {
            "arguments": dict(self.arguments),
            "keys": list(self.keys),
            "columns": columns,
            "files": list(self.files),
            "report": self.report,
            "positions": self.positions,
        }
        return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def read_manifest(folder: Folder) -> OutputManifest | None:
    """Return the manifest of a finished folder; None if no job has written there.

    Raises:
        InvalidInput: the job that wrote there was not finished, or somebody else has written there too.
    """
    if not folder.has(MANIFEST):
        return None
    if not folder.has(SUCCESS):
        raise InvalidInput(f"{folder.uri} is unfinished: run the job that writes it once more")
    manifest = parse_manifest(folder)
    files = tuple(entry.path for entry in rows_in(folder))
    if files != manifest.files:
        raise InvalidInput(
            f"{folder.uri}: expected the files that {MANIFEST} lists, got other files: two jobs wrote there, or the folder "
            "was changed. Name a new folder"
        )
    return manifest


def parse_manifest(folder: Folder) -> OutputManifest:
    """Return the manifest of a folder, finished or not.

    Raises:
        InvalidInput: the manifest cannot be read.
    """
    try:
        content = json.loads(folder.read(MANIFEST))
        columns = Schema(Column(column["name"], parse_type(column["type"])) for column in content["columns"])
        landed_types = {column["name"]: tuple(map(parse_type, column["landed"])) for column in content["columns"]}
        keys, files = tuple(content["keys"]), tuple(content["files"])
        positions = content.get("positions", 1)  # releases that wrote positions in way 1 did not say so
        return OutputManifest(content["arguments"], keys, columns, landed_types, files, content["report"], positions)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{folder.uri}/{MANIFEST} cannot be read ({reason_of(error)}): run the job that writes it again"
        ) from error


def find_finished(folder: Folder, arguments: Mapping[str, Any]) -> OutputManifest | None:
    """Return the manifest of a job that has finished here with the same arguments, so that nothing is left to do.

    Returns:
        None if the folder is empty, or an unfinished job has left it.

    Raises:
        InvalidInput: the folder holds anything else.
    """
    if not folder.has(SUCCESS):
        _check_unfinished(folder)
        return None
    manifest = read_manifest(folder)
    if manifest is None or manifest.arguments != arguments:
        raise InvalidInput(f"--output {folder.uri} exists already, made from other arguments: name a new folder")
    return manifest


def _check_unfinished(folder: Folder) -> None:
    """Check that a job may empty this folder: a job that was killed has left its manifest, or nothing.

    Raises:
        InvalidInput: the folder holds files that no job has written; they are never removed.
    """
    foreign = [entry.path for entry in folder.files() if not entry.path.startswith(_WRITTEN_BY_JOBS)]
    if folder.exists() and folder.files() and (foreign or not folder.has(MANIFEST)):
        raise InvalidInput(f"--output {folder.uri} holds files that no job of this kind has written: name a new folder")
