"""The labels of a unified view: to whom the view belongs, and with what it was written."""

from __future__ import annotations

import hashlib

from onefold.core.errors import ViewNameTaken
from onefold.core.names import TableId
from onefold.ports.warehouse import StoredView
from onefold.refresh.built_view import RENDERER, BuiltView
from onefold.refresh.leaves import LEAVES_LABEL, leaves_read
from onefold.schema.contract_rules import SHOW_ALL
from onefold.settings.environment import Settings

LABEL = "onefold_rules"
"""A digest of the settings and the renderer with which a view was written."""
TABLE_LABEL = "onefold_table"
"""A digest of the table that a view belongs to: with some templates two tables could claim one view."""
CREATED_LABEL = "onefold_created"
"""When the versions were created that the view reads, as far as a label has room: see `creations`."""
CHANGE_LABEL = "onefold_change"
"""The identifier of the last change of the view's schema, from which that of the next one follows."""


def check_owner(stored: StoredView, base: TableId) -> None:
    """Check that what has the name of a table's view is a view, and not the view of another table.

    Args:
        stored: what has the name of the view.
        base: the base name of the versioned tables.

    Raises:
        ViewNameTaken: the name belongs to a table, or to the view of another table.
    """
    if not stored.is_view:
        raise ViewNameTaken(f"{stored.id} is a table, not a view: rename it, or set ONEFOLD_VIEW_NAME")
    owner = stored.labels.get(TABLE_LABEL)
    if owner and owner != owner_digest(str(base)):
        raise ViewNameTaken(
            f"{stored.id} is the view of another table than {base}: set ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME so that "
            "each table has a view of its own"
        )


def is_foreign(stored: StoredView, query: str | None) -> bool:
    """Return whether a write would destroy a text that Onefold did not write: the predecessor's, or one by hand.

    Args:
        stored: the view as it is.
        query: the text that is to be written; None where the view is to be removed.
    """
    has_label = TABLE_LABEL in stored.labels or LABEL in stored.labels
    return not has_label and stored.query != query


def check_taken_over(stored: StoredView, base: TableId, query: str | None, *, take_over: bool) -> None:
    """Check that a view may be written or removed.

    Args:
        stored: the view as it is.
        base: the base name of the versioned tables.
        query: as for `is_foreign`.
        take_over: whether a person asked that a view of others is taken over.

    Raises:
        ViewNameTaken: Onefold did not write the view, and nobody asked that the view is taken over.
    """
    if is_foreign(stored, query) and not take_over:
        command = f"onefold refresh {base.dataset}.{base.table}{' --prune' if query is None else ''} --take-over"
        raise ViewNameTaken(
            f"{stored.id} was not written by Onefold, and is not overwritten: rename it, set ONEFOLD_VIEW_NAME, or run "
            f"`{command}`, which prints its text and then {'removes' if query is None else 'replaces'} it"
        )


def owner_digest(owner: str) -> str:
    """Return the value of TABLE_LABEL for the owner of a view.

    Examples:
        >>> owner_digest("p.shop.customer")
        'a57e53bc75554ba0'
    """
    return hashlib.sha256(owner.encode()).hexdigest()[:16]


def labels_of(view: BuiltView, stored: StoredView | None, fingerprint: str, created: str | None) -> dict[str, str]:
    """Return the labels of a view: those that people set, and those of Onefold.

    Args:
        view: the view as it has to be.
        stored: the view as it is; None where it does not exist.
        fingerprint: the digest of the settings.
        created: the label of the versions' creation; None where a time is not known.
    """
    labels = {**(stored.labels if stored else {}), LABEL: fingerprint}
    labels.pop(LEAVES_LABEL, None)
    labels.pop(CREATED_LABEL, None)
    if created:
        labels[CREATED_LABEL] = created
    if view.leaves or (stored and leaves_read(view.id, stored.query)):
        labels[LEAVES_LABEL] = "yes"
    return labels


def fingerprint_of(settings: Settings, base: TableId) -> str:
    """Return a digest of all that decides a view's text besides its versions; a label of the view holds it."""
    rules = settings.rules_for(base)
    parts = (
        RENDERER,
        base,
        rules.conversions,
        rules.time_zone,
        rules.version_column,
        rules.types,
        rules.units,
        rules.mixed_numbers,
        sorted(rules.retired),
        rules.names,
        *([rules.contract] if rules.contract != SHOW_ALL else []),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
