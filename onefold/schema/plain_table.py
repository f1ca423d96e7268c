"""What the settings know of a plain change table: what its rows are, and where its base and its current view are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

DEFAULT_DATASET = "{dataset}__onefold"
"""The template of the dataset of the bases and the current views of plain change tables, which are never in their own."""
PlainMode = Literal["changes", "current", "direct", "tool"]
"""What the rows of a plain change table are.

- `changes`: one row for each change, as Datastream's append-only mode writes them.
- `current`: one row for each key, as Datastream's merge mode writes them.
- `direct`: rows without change metadata, of a table whose key onefold.yaml declares.
- `tool`: rows of a tool that onefold.yaml names, whose columns say which row is the latest.
"""


@dataclass(frozen=True)
class PlainTable:
    """A plain change table.

    Attributes:
        mode: what its rows are.
        dataset: the dataset of its base, of the log of its merges and of its current view.
    """

    mode: PlainMode
    dataset: str
