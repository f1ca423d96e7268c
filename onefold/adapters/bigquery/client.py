"""Requests to BigQuery: each is counted, ends in time, and is tried again where that helps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from google.api_core import exceptions as api
from google.api_core.retry import Retry
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_JOB_RETRY, DEFAULT_RETRY

from onefold.adapters.bigquery.errors import translated
from onefold.adapters.call_counter import CallCounter
from onefold.core.identity import member
from onefold.core.names import TableId

# Seconds. The client would retry for ten minutes by itself, longer than a message waits for its answer.
TIMEOUT = 30.0
_RETRY: Retry | None = DEFAULT_RETRY
_QUERY_RETRY: Retry | None = DEFAULT_JOB_RETRY
_PAGE = 1_000
"""Tables listed in one call; the default is 50."""


class BigQueryClient:
    """The requests to the BigQuery of one project. All threads may share one.

    Attributes:
        patience: the seconds in which a request is answered; a query has twice as many. A request that failed is repeated
            for TIMEOUT in any case: where nothing answers, nobody waits for minutes.
    """

    patience: ClassVar[float] = TIMEOUT

    def __init__(self, client: bigquery.Client) -> None:
        self._client = client
        self._calls = CallCounter()
        self.project: str = client.project

    @property
    def calls(self) -> int:
        return self._calls.count

    @property
    def client(self) -> bigquery.Client:
        """Google's own client, for code that reads and writes rows in bulk."""
        return self._client

    @property
    def member(self) -> str:
        """The account of this process, as a grant names it. It is known at the latest after the first answer."""
        return member(self._client._credentials)

    def _get(self, id_: TableId) -> bigquery.Table | None:
        with translated(str(id_)):
            try:
                table: bigquery.Table = self._call(self._client.get_table, str(id_))
                return table
            except api.NotFound as error:
                # The frames of Google's retry refer to the error, and its traceback to them and to all callers' frames:
                # without this, what these have read stays in memory until the garbage collector finds the cycle.
                error.__traceback__ = None
                return None

    def _list(self, dataset: str) -> list[Any]:
        with translated(f"dataset {dataset}"):
            listed = self._client.list_tables(f"{self.project}.{dataset}", page_size=_PAGE, **self._limits)
            items: list[Any] = []
            for page in listed.pages:
                self._calls.add()
                items += page
            return items

    def _query(self, sql: str, page_size: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query that ends within a minute; the caller translates errors."""
        self._calls.add()
        limits: dict[str, Any] = {
            "retry": self._limits["retry"], "job_retry": _QUERY_RETRY and _QUERY_RETRY.with_timeout(2 * TIMEOUT),
            "api_timeout": self.patience, "wait_timeout": 2 * self.patience,
        }  # fmt: skip
        rows = self._client.query_and_wait(sql, page_size=page_size, **limits)
        return (dict(row.items()) for row in rows)

    def _call(self, method: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Send one request by a method of Google's client; the caller translates errors."""
        self._calls.add()
        return method(*arguments, **self._limits, **options)

    @property
    def _limits(self) -> dict[str, Any]:
        return {"retry": _RETRY and _RETRY.with_timeout(TIMEOUT), "timeout": self.patience}
