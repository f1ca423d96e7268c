"""Pages in a folder or a bucket: each file is written whole, and a page of a dataset that is gone says so."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from onefold.changes.page.compact import time_text
from onefold.changes.page.dataset import DatasetPage
from onefold.changes.page.document import dataset_html
from onefold.changes.page.index import INDEX, IndexRow, file_name, gone_html, index_html, index_rows, merged
from onefold.ports.objects import NEW, ObjectChanged, ObjectWriter

_TRIES = 5


def write_pages(
    store: ObjectWriter, folder: str, pages: Sequence[DatasetPage], gone: Iterable[str], now: datetime
) -> list[str]:
    """Write the pages of datasets, and then the index; pages of other runs stay, and keep their date.

    Args:
        store: the folder or the bucket.
        folder: its address.
        pages: the pages.
        gone: datasets that do not exist: a page of theirs that is there is replaced by a note.
        now: the time of the run.

    Returns:
        The names of the files that were written.

    Raises:
        TryAgain: a file cannot be written now; those before it are whole.
        Rejected: a file cannot be written.
    """
    place, run = folder.rstrip("/"), time_text(now) or ""
    files = {file_name(page.dataset): dataset_html(page) for page in pages}
    absent = set(gone)
    files |= {
        file_name(row.dataset): gone_html(row) for row in _rows(store, place, pages, absent, run)[0] if row.dataset in absent
    }
    for name, text in files.items():
        store.write(f"{place}/{name}", text.encode())
    _write_index(store, place, pages, absent, run)
    return [*files, INDEX]


def _rows(
    store: ObjectWriter, place: str, pages: Sequence[DatasetPage], gone: Collection[str], run: str
) -> tuple[list[IndexRow], int]:
    """Return the rows that the index has to have, and the generation of the index as it is."""
    stored = store.find(f"{place}/{INDEX}")
    former = index_rows(stored.data.decode("utf-8", "replace")) if stored else ()
    return merged(former, pages, gone, run), stored.generation if stored else NEW


def _write_index(store: ObjectWriter, place: str, pages: Sequence[DatasetPage], gone: Collection[str], run: str) -> None:
    """Write the index over the one that was read: another run may have written it meanwhile, and keeps its rows.

    Raises:
        ObjectChanged: others wrote it each time that it was read.
    """
    for left in reversed(range(_TRIES)):
        rows, generation = _rows(store, place, pages, gone, run)
        try:
            store.write(f"{place}/{INDEX}", index_html(rows, run).encode(), generation)
            return
        except ObjectChanged:
            if not left:
                raise
