"""The value of a view that a refresh writes, whatever its kind, and the names of its leaves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from onefold.core.names import LEAF_PREFIX, TableId, quote_text
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.refresh.description import describe
from onefold.refresh.tables_read import ids_read
from onefold.schema.columns import Column
from onefold.schema.versions import Cast
from onefold.schema.waiting import Waiting

RENDERER = 3
"""The number of the form of the text. Raise it with every change of the text, so that deployed views are written again."""

Form = Literal["spelled", "compact", "two-level"]

_OLD_LEAF = "_leaf_"
_DIGEST = "[0-9a-f]{12}"


@dataclass(frozen=True)
class Leaf:
    """A view over some of the versions. Its name holds a digest of its text, so a leaf is never changed."""

    id: TableId
    query: str


@dataclass(frozen=True)
class BuiltView:
    """A view over versions of a table, of any kind: its name, its schema, and its SQL.

    id: the name of the view.
    columns: its columns, in order.
    versions: the identifiers of the versions that it reads.
    casts: the conversions of its columns.
    form: how its SQL is written.
    query: its SQL.
    leaves: the leaf views that it reads.
    names: the form of the names of versions.
    waiting: changes of its table that it does not show until somebody decides.
    warnings: what else people have to know of it.
    """

    id: TableId
    columns: tuple[Column, ...]
    versions: tuple[str, ...]
    casts: tuple[Cast, ...]
    form: Form
    query: str
    leaves: tuple[Leaf, ...] = ()
    names: VersionedNames = DEFAULT_NAMES
    waiting: tuple[Waiting, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def tables(self) -> int:
        """How many of the 1,000 tables of a query the view takes: itself, its leaves, and every table that their texts read.

        Besides the versions these are the base and the log of its merges.
        """
        texts = (self.query, *(leaf.query for leaf in self.leaves))
        return 1 + len(frozenset[TableId]().union(*map(ids_read, texts)))

    @property
    def ddl(self) -> str:
        """Statements that create the view as a refresh would, leaves first."""
        views = [*((leaf.id, "", leaf.query) for leaf in self.leaves), (self.id, self._options, self.query)]
        return "\n\n".join(f"CREATE OR REPLACE VIEW {id_.quoted}{options} AS\n{query};" for id_, options, query in views)

    @property
    def _options(self) -> str:
        """The options of the view: the description that a refresh would write, with the losses of conversions."""
        description = describe("", self.casts)
        return f"\nOPTIONS (description = {quote_text(description)})" if description else ""


def leaf_pattern(view: str) -> re.Pattern[str]:
    """Return a pattern that matches (with fullmatch) the names of a view's leaves."""
    return re.compile(f"{LEAF_PREFIX}{_DIGEST}_{re.escape(view)}")


def old_leaf_pattern(view: str) -> re.Pattern[str]:
    """Return a pattern that matches the names that renderer 1 gave to a view's leaves, which a refresh still removes."""
    return re.compile(f"{re.escape(view + _OLD_LEAF)}{_DIGEST}")
