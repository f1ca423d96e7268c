"""The leaf views of a unified view in two levels: write them, find them, and remove those that nothing reads.

Nothing ties the removal of a leaf to the view that reads it. So leaves are written before the view and removed after it, and
they are looked for whenever the whole view is computed: a leaf that is missing is written again.
"""

from __future__ import annotations

import re

from onefold.core.errors import OnefoldError, Rejected, ViewChanged
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView, ViewDraft, ViewExists, Warehouse
from onefold.refresh.built_view import BuiltView, Leaf, leaf_pattern, old_leaf_pattern

LEAVES_LABEL = "onefold_leaves"
"""Says that there may be leaves to remove, also after the view itself reads none any more."""


class LeafRemoved(ViewChanged):
    """The view reads a leaf that was removed: the next try must compute the whole view, without a shortcut."""


def has_its_leaves(warehouse: Warehouse, view: BuiltView) -> bool:
    """Return whether the leaves of a view exist with their texts, and no other leaves of it."""
    if not view.leaves:
        return True
    present = _present_leaves(warehouse, view.id)
    return present == leaves_of(view) and all(_as_written(warehouse, leaf) for leaf in view.leaves)


def _as_written(warehouse: Warehouse, leaf: Leaf) -> bool:
    stored = warehouse.get_view(leaf.id)
    return stored is not None and stored.query == leaf.query


def leaves_of(view: BuiltView) -> frozenset[str]:
    """Return the names of the leaves that a view has to have."""
    return frozenset(leaf.id.table for leaf in view.leaves)


def leaves_read(view: TableId, query: str) -> frozenset[str]:
    """Return the names of the leaves that the text of a view reads."""
    return frozenset([*leaf_pattern(view.table).findall(query), *old_leaf_pattern(view.table).findall(query)])


def _present_leaves(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    return _matching(warehouse, view, leaf_pattern(view.table))


def _matching(warehouse: Warehouse, view: TableId, *patterns: re.Pattern[str]) -> frozenset[str]:
    names = warehouse.list_views(view.dataset or "")
    return frozenset(name for name in names if any(pattern.fullmatch(name) for pattern in patterns))


def _present_leaves_of_any_name(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    return _matching(warehouse, view, leaf_pattern(view.table), old_leaf_pattern(view.table))


def may_have_leaves(stored: StoredView | None) -> bool:
    """Return whether a stored view reads leaves, or may have leaves that it does not read any more."""
    return stored is not None and (LEAVES_LABEL in stored.labels or bool(leaves_read(stored.id, stored.query)))


def write_leaf(warehouse: Warehouse, leaf: Leaf, stored: StoredView | None) -> None:
    """Create a leaf unless it exists, and give it the policy tags of the view, since people may read the leaf by its name.

    A leaf that exists has the same text, because its name is a digest of its text, unless somebody edited the leaf: then the
    text is written again. It may also lack the tags, where people put them on the view later or a process died between the
    two calls.

    Args:
        warehouse: where the views are.
        leaf: the leaf to create.
        stored: the view as it is; None where it does not exist.

    Raises:
        OnefoldError: the leaf could not be given its tags; it was removed again if this call created it.
    """
    created = False
    try:
        warehouse.create_view(leaf.id, ViewDraft(leaf.query))
        created = True
    except ViewExists:
        _repair_text(warehouse, leaf)
    if stored is None:
        return
    try:
        warehouse.copy_tags(stored, leaf.id)
    except OnefoldError:
        if created:  # nothing reads the leaf yet, and without tags it shows values to more people than the view does
            warehouse.delete_view(leaf.id)
        raise


def _repair_text(warehouse: Warehouse, leaf: Leaf) -> None:
    present = warehouse.get_view(leaf.id)
    if present and present.query != leaf.query:
        warehouse.update_view(present, ViewDraft(leaf.query, present.description, present.labels))


def remove_all_leaves(warehouse: Warehouse, view: TableId) -> None:
    """Remove every leaf of a view that is about to be removed."""
    for name in sorted(_present_leaves_of_any_name(warehouse, view)):
        warehouse.delete_view(view.sibling(name))


def remove_leaves(warehouse: Warehouse, view: TableId, keep: frozenset[str]) -> tuple[str, ...]:
    """Remove the leaves of a view that it does not read any more; return warnings about leaves that remain.

    Args:
        warehouse: where the views are.
        view: the unified view.
        keep: the names of the leaves that it reads.

    Raises:
        LeafRemoved: another refresh has written the view meanwhile, so that it reads a leaf that was removed.
    """
    unused = _present_leaves_of_any_name(warehouse, view) - keep
    if not unused:
        return ()
    # Another refresh may have written the view since, so that it reads some of these leaves again.
    removed = unused - _leaves_read_now(warehouse, view)
    warnings = [warning for name in sorted(removed) for warning in _remove_leaf(warehouse, view, name)]
    # The other refresh may also have written the view between that check and the removal: then the leaves are written again.
    if removed & _leaves_read_now(warehouse, view):
        raise LeafRemoved(f"{view} reads a leaf that was just removed")
    return tuple(warnings)


def _remove_leaf(warehouse: Warehouse, view: TableId, name: str) -> tuple[str, ...]:
    """Remove a leaf.

    A leaf with a name that renderer 1 gave may remain, with a warning: IAM lets the deployed accounts delete only names with
    the fixed prefix, and nothing reads the old leaf any more.

    Raises:
        Rejected: the account may not delete a leaf of this renderer.
    """
    try:
        warehouse.delete_view(view.sibling(name))
    except Rejected as error:
        if leaf_pattern(view.table).fullmatch(name):
            raise
        remains = f"{view.sibling(name)}, a leaf view of an earlier release that nothing reads, remains ({error})"
        return (f"{remains}: run `bq rm {view.dataset}.{name}` as somebody who may delete it",)
    return ()


def _leaves_read_now(warehouse: Warehouse, view: TableId) -> frozenset[str]:
    now = warehouse.get_view(view)
    return leaves_read(view, now.query) if now else frozenset()


def remove_view(warehouse: Warehouse, stored: StoredView) -> None:
    """Remove a view after its leaves: as long as the view exists, a removal that broke off can be found and finished."""
    if may_have_leaves(stored):
        remove_all_leaves(warehouse, stored.id)
    warehouse.delete_view(stored.id)


def write_view(warehouse: Warehouse, view: BuiltView, stored: StoredView | None, draft: ViewDraft) -> tuple[str, ...]:
    """Write leaves, then the view over them, then remove the leaves that it no longer reads; return warnings."""
    for leaf in view.leaves:
        write_leaf(warehouse, leaf, stored)
    if stored is None:
        warehouse.create_view(view.id, draft)
    else:
        warehouse.update_view(stored, draft)
    if view.leaves or may_have_leaves(stored):
        return remove_leaves(warehouse, view.id, keep=leaves_of(view))
    return ()
