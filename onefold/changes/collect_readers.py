"""Use case: find out who reads each column, from views, scheduled queries and the log of jobs.

What is kept are columns, kinds and numbers: no text, no literal, and nobody's name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from onefold.changes.catalog import Catalog
from onefold.changes.reader_counts import ColumnReaders, KnownReaders, ReaderKind
from onefold.changes.readers import QueryReads, columns_read
from onefold.core.log import log
from onefold.core.text import counted
from onefold.ports.query_texts import JobTexts, QueryTexts, ScheduledQueries, ScheduledText, TableKey, ViewText

DAYS = 30
"""The days of the log of jobs that count."""
_WORD = re.compile(r"[\w-]+\*?|`[^`]+`")
_DOTS = re.compile(r"[.`]")


@dataclass(frozen=True)
class Use:
    """A text, and who uses it.

    Attributes:
        kind: what the readers are.
        readers: the readers, each by a name that counts it; no result has these names.
        text: the text.
        jobs: how many queries ran.
        incomplete: how many of them list not all tables that they reference.
        last_at: when the last one ran.
        referenced: the tables that they have referenced.
    """

    kind: ReaderKind
    readers: frozenset[str]
    text: str
    jobs: int = 0
    incomplete: int = 0
    last_at: datetime | None = None
    referenced: frozenset[TableKey] = frozenset()


@dataclass
class _Tally:
    """The readers of one kind of one column, while they are counted: whether each reads it for certain."""

    certain: dict[str, bool] = field(default_factory=dict)
    jobs: int = 0
    incomplete: int = 0
    last_at: datetime | None = None

    def add(self, use: Use, *, certain: bool) -> None:
        for reader in use.readers:
            self.certain[reader] = certain or self.certain.get(reader, False)
        self.jobs += use.jobs
        self.incomplete += use.incomplete
        self.last_at = max(filter(None, (self.last_at, use.last_at)), default=None)


def collect_readers(
    texts: QueryTexts,
    scheduled: ScheduledQueries,
    near: str,
    datasets: Collection[str] | None,
    now: datetime,
    days: int = DAYS,
) -> KnownReaders:
    """Return who reads each column of the tables and views of datasets.

    Args:
        texts: tells views, jobs and columns.
        scheduled: tells scheduled queries.
        near: a dataset of the location that is looked at.
        datasets: those that count, in addition to those of the views that Onefold wrote; None for no others.
        now: the time of the run.
        days: how many days of the log of jobs count.

    Raises:
        AccessDenied: the account may not read metadata or jobs of the project.
        Rejected: the account may not list scheduled queries.
        TryAgain: an error that may pass.
    """
    views = texts.list_view_texts(near)
    served = frozenset(datasets or ()) | {view.table[0] for view in views if view.own}
    jobs = texts.list_job_texts(near, served, days)
    uses = [*_uses(views, scheduled.list_scheduled(texts.location_of(near)), jobs)]
    words = names_in(use.text for use in uses) | {name for use in uses for _, name in use.referenced}
    own = {view.table for view in views if view.own}
    columns = texts.list_column_names(near, words)
    catalog = Catalog(texts.project, columns, {view.table: view.text for view in views if view.table not in own})
    rows, unparsed = count_readers(uses, catalog, served)
    return KnownReaders(now, tuple(rows), days, sum(use.incomplete for use in uses), unparsed)


def _uses(views: Sequence[ViewText], scheduled: Sequence[ScheduledText], jobs: Sequence[JobTexts]) -> Iterator[Use]:
    for view in views:
        if not view.own:
            yield Use("view", frozenset({".".join(view.table)}), view.text)
    for query in scheduled:
        yield Use("scheduled query", frozenset({query.id}), query.text)
    for job in jobs:
        yield Use(job.kind, job.readers, job.text, job.jobs, job.incomplete, job.last_at, job.referenced)


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return all words of texts that may be the name of a table; with `*` at the end, the beginning of names.

    Examples:
        >>> sorted(names_in(["SELECT a FROM `p.shop.ev_*`, shop.t-1"]))
        ['FROM', 'SELECT', 'a', 'ev_*', 'p', 'shop', 't-1']
    """
    found = (part for text in texts for word in _WORD.findall(text) for part in _DOTS.split(word))
    return frozenset(part for part in found if part.rstrip("*"))


def count_readers(uses: Iterable[Use], catalog: Catalog, datasets: Collection[str]) -> tuple[list[ColumnReaders], int]:
    """Return the readers of each column by kind, and how many texts could not be understood.

    Args:
        uses: the texts, and who uses them.
        catalog: the tables that they may read.
        datasets: the datasets whose columns count.
    """
    tallies: dict[tuple[str, str, str, ReaderKind], _Tally] = {}
    unparsed: Counter[ReaderKind] = Counter()
    for use in uses:
        found = _columns_read(use, catalog)
        unparsed[use.kind] += not found.parsed
        for one in found.columns:
            if one.dataset in datasets:
                tally = tallies.setdefault((one.dataset, one.table, one.column, use.kind), _Tally())
                tally.add(use, certain=one.certain)
    for kind, number in unparsed.items():
        if number:
            text = f"{counted(number, 'text')} not understood, whose tables count as read perhaps: {kind}"
            log("NOTICE", text, event="texts_not_understood", kind=kind, texts=number)
    rows = [
        ColumnReaders(*key, len(one.certain), sum(one.certain.values()), one.jobs, one.incomplete, one.last_at)
        for key, one in sorted(tallies.items())
    ]
    return rows, unparsed.total()


def _columns_read(use: Use, catalog: Catalog) -> QueryReads:
    """Return what a text reads. A text on which the parser fails in an unforeseen way stops no other text."""
    try:
        return columns_read(use.text, catalog, use.referenced)
    except Exception as error:  # noqa: BLE001 the parser raises errors of many classes; the text may have literals, the class none
        log("WARNING", f"a text could not be read: {type(error).__name__}", event="text_unreadable", kind=use.kind)
        return columns_read("", catalog, use.referenced)
