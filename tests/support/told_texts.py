"""A project that is told its views, scheduled queries, jobs and columns: `QueryTexts` and `ScheduledQueries` in memory.

It honours: views and scheduled queries as they are told; of jobs those that reference a table of the named datasets, or
whose list of tables is full or empty (a result from the cache); of columns those of the tables that are asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from onefold.ports.query_texts import MOST_REFERENCED, JobKind, JobTexts, ScheduledText, TableKey, ViewText

LAST = datetime(2026, 5, 3, 10, 15, tzinfo=UTC)


def job(
    kind: JobKind, text: str, *readers: str, referenced: Collection[TableKey] = (), jobs: int = 1, incomplete: int = 0
) -> JobTexts:
    return JobTexts(kind, text, frozenset(readers or ("someone",)), jobs, incomplete, LAST, frozenset(referenced))


@dataclass
class ToldTexts:
    columns: Mapping[TableKey, tuple[str, ...]]
    views: Sequence[ViewText] = ()
    scheduled: Sequence[ScheduledText] = ()
    jobs: Sequence[JobTexts] = ()
    project: str = "p"
    asked: list[frozenset[str]] = field(default_factory=list)

    def location_of(self, dataset: str) -> str:
        return "EU"

    def list_view_texts(self, dataset: str) -> Sequence[ViewText]:
        return self.views

    def list_job_texts(self, dataset: str, datasets: Collection[str], days: int) -> Sequence[JobTexts]:
        def counts(one: JobTexts) -> bool:
            listed = {name for name, _ in one.referenced}
            return not listed or len(one.referenced) >= MOST_REFERENCED or bool(listed & set(datasets))

        return [one for one in self.jobs if counts(one)]

    def list_column_names(self, dataset: str, words: Collection[str]) -> Mapping[TableKey, tuple[str, ...]]:
        self.asked.append(frozenset(words))
        beginnings = tuple(word[:-1] for word in words if word.endswith("*"))
        return {
            key: names
            for key, names in self.columns.items()
            if key[1] in words or (beginnings and key[1].startswith(beginnings))
        }

    def list_scheduled(self, location: str) -> Sequence[ScheduledText]:
        assert location == "EU"
        return self.scheduled
