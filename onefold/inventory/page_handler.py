"""Handles the messages of the topic `page-requests`: the page of a dataset is written, as the dataset is now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from onefold.changes.page.write import write_pages
from onefold.core.errors import InvalidMessage, NotFound, Rejected
from onefold.core.names import problems_of_name
from onefold.inventory.capture_lag import read_lag
from onefold.inventory.page_source import read_kept, read_page
from onefold.messages.consumer import MessageLog, consume
from onefold.messages.envelope import Delivery, json_object
from onefold.ports.objects import ObjectFinder, ObjectWriter
from onefold.ports.publisher import Publisher
from onefold.settings.environment import Settings


@dataclass(frozen=True)
class PageHandler:
    """Handles messages.

    Attributes:
        settings: those of the installation, which say which datasets messages may name.
        folder: the folder of the pages.
        store: writes them.
        warehouse: what the pages show, and the number of calls.
        publisher: publishes dead letters.
        objects_at: returns the store of the checkpoint in a folder.
        now: returns the present time.
    """

    settings: Settings
    folder: str
    store: ObjectWriter
    warehouse: Any
    publisher: Publisher
    objects_at: Callable[[str], ObjectFinder]
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request. A message that comes twice writes the page twice.

        Raises:
            TryAgain: an error that may pass.
        """
        return consume(body, self._handle, self.warehouse, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        dataset = page_request(delivery.data)
        message_log.fields["dataset"] = dataset
        if self.settings.datasets is not None and dataset not in self.settings.datasets:
            raise InvalidMessage(f"dataset {dataset} is not one of ONEFOLD_DATASETS: add it there")
        now = self.now()
        try:
            lag = read_lag(dataset, self.settings.page_checkpoints, self.objects_at, now.timestamp())
            kept = read_kept(self.warehouse, dataset, self.settings, lag)
            page = read_page(self.warehouse, dataset, self.settings, kept, now)
        except NotFound as error:
            write_pages(self.store, self.folder, [], [dataset], now)
            raise Rejected(f"{error}: its page says so; take it out of the datasets of the deployment") from error
        files = write_pages(self.store, self.folder, [page], [], now)
        for warning in page.warnings:
            message_log.log("WARNING", warning, "page_incomplete")
        message_log.log("INFO", f"{len(files)} files are written", "page_written", tables=len(page.tables))


def page_request(data: bytes) -> str:
    """Return the dataset that a message names.

    Examples:
        >>> page_request(b'{"dataset": "shop"}')
        'shop'

    Raises:
        InvalidMessage: the message has another form.
    """
    content = json_object(data, "the message")
    if set(content) != {"dataset"}:
        raise InvalidMessage(f'expected {{"dataset": "shop"}}, got the fields {sorted(content)}')
    if problems := problems_of_name("dataset", content["dataset"]):
        raise InvalidMessage(problems)
    return str(content["dataset"])
