"""What BigQuery's errors mean beyond `google_errors`: what was not found, and which refusals are about a quota."""

from __future__ import annotations

import functools
import re

from google.api_core import exceptions as api

from onefold.adapters.google_errors import BIGQUERY, QUOTA_REASONS, message_of, reasons_of
from onefold.core.errors import NameNotFound, NotFound, OnefoldError, Rejected, TryAgain, ViewChanged
from onefold.core.names import KEY_TABLE, TableId

EMULATOR = BIGQUERY.emulator
_NAMED = re.compile(
    r"Not found: (?:Dataset (?:\S+:)?(?P<dataset>\w+)|(?:Table|View) (?:\S+[:.])?(?P<place>\w+)\.(?P<table>[\w-]+))"
)
_NOT_FOUND = re.compile(r"Not found: (\w+)")
_NO_KEY = re.compile(rf"Not found: Table [\w.:-]+[.:](\w+)__keys\.{KEY_TABLE}\b")

__all__ = ["EMULATOR", "is_quota", "message_of", "missing_on_write", "no_table", "not_found", "translated"]


def not_found(text: str) -> NotFound:
    """Return the error for what BigQuery did not find.

    Examples:
        >>> (found := not_found("the query: Not found: Table my-project:shop.customers was not found")).dataset, found.table
        ('shop', 'customers')
    """
    found = _NAMED.search(text)
    return NameNotFound(text, found["dataset"] or found["place"], found["table"]) if found else NotFound(text)


translated = functools.partial(BIGQUERY.translated, not_found=not_found)


def is_quota(error: api.GoogleAPICallError) -> bool:
    """Return whether a 403 is about how often requests come, and not about a right."""
    return bool(reasons_of(error) & QUOTA_REASONS)


def no_table(id_: TableId) -> str:
    """Return the error text where there is no table or view of a name."""
    return f"there is no table or view {id_}; of a versioned table, name the unified or the current view"


def missing_on_write(message: str) -> OnefoldError:
    """Return the error for what a write did not find.

    A dataset for views that does not exist is a wrong setting, and people have to look at a missing policy tag or anything
    else. A table or leaf that was dropped is a change like any other, and so is what BigQuery does not name. The key of the
    hashes of clean views is written by a person, so that the write succeeds later.
    """
    if key := _NO_KEY.search(message):
        return TryAgain(f"{message}; the view hashes columns, and has no key: run `onefold policies key {key[1]}`")
    # Not any "dataset": the client writes the URL, which has `/datasets/` in it, before BigQuery's own message.
    found = _NOT_FOUND.search(message)
    if found is None or found[1] in ("Table", "View"):
        return ViewChanged(message)
    if found[1] == "Dataset":
        advice = "create the dataset for views, in the location of the tables, or set ONEFOLD_VIEW_DATASET"
    else:
        advice = (
            "restore it; if it is a policy tag that was deleted, take it off the column, or out of the last line of the "
            "view's text, where Onefold keeps the tags of former columns and of a write that broke off"
        )
    return Rejected(f"{message}; {advice}")
