"""The current view of a table that is current already: Datastream's merge mode keeps one row for each key.

Its rows are read as they are, without `datastream_metadata`. Such a table has no history, so nothing can be merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onefold.changelog.metadata import METADATA, metadata_of
from onefold.core.errors import KeyUnknown
from onefold.ports.warehouse import StoredView
from onefold.schema.columns import Column, Schema
from onefold.schema.versions import Version
from onefold.views.current_kind import CurrentKind
from onefold.views.current_text import AlreadyCurrentText, CurrentText
from onefold.views.direct_rows import DirectText

_IS_DELETED = "is_deleted"


@dataclass(frozen=True)
class AlreadyCurrentKind(CurrentKind):
    """The current view of a table that is current already. It needs no key."""

    def _text(
        self,
        found: Sequence[Version],  # noqa: ARG002 the columns tell all
        columns: tuple[Column, ...],
        stored: StoredView | None,  # noqa: ARG002
    ) -> CurrentText | DirectText | AlreadyCurrentText:
        """Return the text of the view.

        Raises:
            KeyUnknown: the table has no key at the source. Datastream only appends to such a table, and its deletions do not
                tell which row they delete, so any view of it would show rows that are gone.
        """
        if metadata_of(columns).get(_IS_DELETED):
            raise KeyUnknown(
                f"{self.base} has no key at the source, so Datastream appends all of its changes, and "
                f"{METADATA}.{_IS_DELETED} does not tell which row is gone: give it a key at the source, or have the stream "
                "write in append-only mode"
            )
        return AlreadyCurrentText(Schema(columns).only((METADATA,)).names)
