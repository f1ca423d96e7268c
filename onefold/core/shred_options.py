"""What a run of the shredder is told: the form of the events, what becomes of unknown entities, the layout of the rows."""

from __future__ import annotations

from typing import Literal, get_args

InputForm = Literal["self-describing", "enriched-tsv", "enriched-json"]
INPUT_FORMS: tuple[InputForm, ...] = get_args(InputForm)
Layout = Literal["tables", "wide"]
"""tables: an entity is a row of the table of its schema.
wide: it is in a column of the row of its event."""
Unknown = Literal["bad_event", "bad_entity", "keep_json"]
"""What becomes of an entity whose schema is unknown or unusable.

bad_event: the whole event is a bad row.
bad_entity: the event is loaded, and the entity is a bad row of its own.
keep_json: the event is loaded, and the JSON of the entity is a row of the table of unknown entities."""
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)
