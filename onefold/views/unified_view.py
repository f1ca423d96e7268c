"""The unified view as SQL, in the first of three forms that fits BigQuery's limit on a view's text.

1. spelled: every branch lists every column;
2. compact: every branch lists the columns of its version, and the branches are united by name;
3. two-level: leaf views over groups of versions, and the view over the leaves.

A comment at the start holds the settings (`stored_settings`).

Each value is converted from the type in which it landed to the view's type in one step, in the leaves too, so that the
three forms give equal rows.

Every form names each column of a table, and each field of a struct. So a view goes on reading, and gives the same columns
and rows, when a table gains columns or fields in place, until the refresh that includes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onefold.core.errors import LimitExceeded
from onefold.core.names import TableId, fold_case, leaf_name, quote
from onefold.merge.change_tables import tells_landing
from onefold.refresh.built_view import BuiltView, Form, Leaf
from onefold.refresh.stored_settings import settings_comment
from onefold.refresh.tables_read import COVERS
from onefold.schema.bigquery import MAX_TEXT
from onefold.schema.columns import Column, Schema
from onefold.schema.table_rules import TableRules
from onefold.schema.types import Type
from onefold.schema.versions import Version, casts, check_known_types, fold, table_of
from onefold.schema.view_items import null_item, shown_item, version_item
from onefold.views.windows import ALL_ROWS, Windows

_UNION_BY_NAME = "\n  FULL OUTER UNION ALL BY NAME\n"


def build_view(
    id_: TableId,
    base: TableId,
    versions: Sequence[Version],
    rules: TableRules,
    reserved: int = 0,
    former: Sequence[Column] = (),
    windows: Windows = ALL_ROWS,
) -> BuiltView:
    """Return the view `id_` over the versioned tables of `base`.

    Args:
        id_: the name of the view.
        base: the base name of the versioned tables.
        versions: in order, at least one.
        rules: the settings of the table.
        reserved: characters of the view's own text that have to stay free, for notes at its end.
        former: the columns of the view as it is, whose order and spelling it keeps; none where it does not exist.
        windows: the rows of each version that are read; by default all.

    Raises:
        SchemaConflict: the versions cannot be one view.
        LimitExceeded: no form fits.
    """
    check_known_types(id_, versions, rules)
    columns = fold(versions, rules, former, base)
    # Names that do not follow from versions do not tell which versions a text reads.
    comment = settings_comment(rules) + (_noted(versions) if rules.names.are_noted else "")
    text, form, leaves = _fitting_form(id_, _Writer(base, columns, rules, windows), versions, reserved + len(comment))
    query = comment + text
    # Of the three forms, the one in two levels is written without regard to the characters that are reserved.
    if form == "two-level" and len(query) > MAX_TEXT:
        raise LimitExceeded(f"{id_}: the view takes {len(query)} of {MAX_TEXT} characters, {len(comment)} for its settings")
    ids = tuple(version.id for version in versions)
    return BuiltView(id_, columns, ids, casts(versions, columns, rules), form, query, leaves, rules.names)


def _noted(versions: Sequence[Version]) -> str:
    return f"{COVERS}{' '.join(version.id for version in versions)}\n"


def _fitting_form(
    id_: TableId, writer: _Writer, versions: Sequence[Version], reserved: int
) -> tuple[str, Form, tuple[Leaf, ...]]:
    room = MAX_TEXT - reserved
    spelled = writer.spelled(versions, room)
    if spelled is not None:
        return spelled, "spelled", ()
    if writer.compact_fits(versions, room):
        return writer.compact(versions), "compact", ()
    whole = writer.of_all_rows()
    groups = list(whole.groups(id_, versions))
    leaves = tuple(_leaf(id_, whole.compact(group)) for group in groups)
    top = writer.top(leaves, groups)
    # The reserved characters are not counted here: the adapter that writes the notes raises an error if they do not fit.
    if len(top) > MAX_TEXT:
        raise LimitExceeded(f"{id_}: the view over {len(leaves)} leaf views takes {len(top)} of {MAX_TEXT} characters")
    return top, "two-level", leaves


def _leaf(view: TableId, query: str) -> Leaf:
    return Leaf(view.sibling(leaf_name(view, query)), query)


class _Writer:
    """Writes the forms for one schema. It works out each distinct conversion once, because versions share most of them."""

    def __init__(self, base: TableId, columns: tuple[Column, ...], rules: TableRules, windows: Windows = ALL_ROWS) -> None:
        self._base = base
        self._rules = rules
        self._windows = windows
        self._targets = Schema(columns)
        self._items: dict[tuple[str, Type], str] = {}
        self._nulls = {column: null_item(column) for column in columns}

    def of_all_rows(self) -> _Writer:
        """Return a writer of the same texts without filters of rows."""
        return _Writer(self._base, tuple(self._targets), self._rules, replace(self._windows, changes={}))

    def spelled(self, versions: Sequence[Version], room: int = MAX_TEXT) -> str | None:
        """Return the first form, or None as soon as it is longer than `room` characters."""
        branches: list[str] = []
        size = 0
        for version in versions:
            branches.append(self._spelled_branch(version))
            size += len(branches[-1]) + len("\nUNION ALL\n")
            if size > room:
                return None
        return "\nUNION ALL\n".join(branches)

    def compact_fits(self, versions: Sequence[Version], room: int) -> bool:
        """Return whether the second form takes at most `room` characters, without making all of a long text."""
        size = len(self._compact(versions, "")) - len(_UNION_BY_NAME)
        for version in versions:
            size += len(self._compact_branch(version)) + len(_UNION_BY_NAME)
            if size > room:
                return False
        return True

    def compact(self, versions: Sequence[Version]) -> str:
        """Return the second form."""
        return self._compact(versions, _UNION_BY_NAME.join(self._compact_branch(version) for version in versions))

    def _compact(self, versions: Sequence[Version], branches: str) -> str:
        present = {fold_case(column.name) for version in versions for column in version.columns}
        if self._rules.version_column:
            present.add(fold_case(self._rules.version_column))
        outer = (
            quote(column.name) if fold_case(column.name) in present else self._nulls[column] for column in self._targets
        )
        return f"SELECT\n  {f',{chr(10)}  '.join(outer)}\nFROM (\n{branches}\n)"

    def groups(self, view: TableId, versions: Sequence[Version]) -> Iterator[list[Version]]:
        """Yield groups of successive versions, each as long as the text of its leaf fits.

        Raises:
            LimitExceeded: one version alone does not fit.
        """
        room = MAX_TEXT - sum(len(item) + len(",\n  ") for item in self._nulls.values()) - len("SELECT\n  \nFROM (\n\n)")
        group: list[Version] = []
        size = 0
        for version in versions:
            length = len(self._compact_branch(version)) + len(_UNION_BY_NAME)
            if length > room:
                raise LimitExceeded(self._too_long(view, version, len(versions)))
            if group and size + length > room:
                yield group
                group, size = [], 0
            group.append(version)
            size += length
        yield group

    def top(self, leaves: Sequence[Leaf], groups: Sequence[Sequence[Version]]) -> str:
        """Return the text of the view over the leaves, with the versions that the leaves read in a comment.

        Args:
            leaves: the leaf views.
            groups: the versions that each of them reads.
        """
        pairs = zip(leaves, groups, strict=True)
        union = "\nUNION ALL\n".join(f"SELECT * FROM {leaf.id.quoted}{self._where_of_leaf(group)}" for leaf, group in pairs)
        # The comment comes first: text that somebody writes after a query, such as a semicolon, must not become part of it.
        return union if self._rules.names.are_noted else _noted([one for group in groups for one in group]) + union

    def _where_of_leaf(self, versions: Sequence[Version]) -> str:
        # Times of landing that the view shows in another type, such as text, cannot be compared with a time.
        condition = self._windows.condition_of_leaf(versions) if tells_landing(tuple(self._targets)) else None
        return f" WHERE {condition}" if condition else ""

    def _too_long(self, view: TableId, version: Version, count: int) -> str:
        return (
            f"{view}: {len(self._targets)} columns of {count} versions do not fit {MAX_TEXT} characters even in two levels: "
            f"version {version.id} alone is too long. "
            "Set a plain target type for its nested columns in onefold.yaml, or `retire` it"
        )

    def _spelled_branch(self, version: Version) -> str:
        landed = version.schema
        items = []
        for target in self._targets:
            column = landed.get(target.name)
            items.append(self._item(column, target) if column else self._absent(target, version))
        return f"SELECT\n  {f',{chr(10)}  '.join(items)}\n{self._from(version)}"

    def _absent(self, target: Column, version: Version) -> str:
        if self._rules.version_column and fold_case(target.name) == fold_case(self._rules.version_column):
            return self._version_item(version)
        return self._nulls[target]

    def _version_item(self, version: Version) -> str:
        return version_item(version.id, self._rules.version_column or "")

    def _item(self, column: Column, target: Column) -> str:
        """Return the item of a branch for one column, in the type of the view."""
        known = self._items.get((column.name, column.type))
        if known is None:
            known = self._items[column.name, column.type] = shown_item(column, target, self._rules)
        return known

    def _compact_branch(self, version: Version) -> str:
        # The columns are named instead of `*`: a column that the table gains later would get into the union, where its type
        # may clash with that of a column of the same name.
        first = [self._version_item(version)] if self._rules.version_column else []
        targets = self._targets
        items = [*first, *(self._item(column, target) for column in version.columns if (target := targets.get(column.name)))]
        return f"  SELECT {', '.join(items)} {self._from(version)}"

    def _from(self, version: Version) -> str:
        condition = self._windows.condition("v.", version.id)
        rows = self._windows.parts.get(version.id) or table_of(self._base, version, self._rules.names).quoted
        table = f"FROM {rows} AS v"
        return f"{table} WHERE {condition}" if condition else table
