"""The message about a table of events that is new or has new columns, by which its unified view is written."""

from __future__ import annotations

from onefold.load.shredded.load import Announce, announce_nothing
from onefold.messages.table_created import table_message
from onefold.ports.event_tables import EventTable
from onefold.ports.publisher import Message, Publisher


def announcing(publisher: Publisher, topic: str | None, dataset: str) -> Announce:
    """Return a function that announces tables by the values of their labels, which name the base and the version.

    The events themselves have no labels and no view, so nothing is announced of them.

    Args:
        publisher: publishes the messages.
        topic: the topic `table-created`; None where nobody listens.
        dataset: the dataset of the tables.
    """
    if topic is None:
        return announce_nothing

    def announce(table: EventTable) -> None:
        base, version = table.labels
        if base:
            publisher.publish(topic, [Message(table_message(dataset, base, version))])

    return announce
