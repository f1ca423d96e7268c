"""The message about a table of events that is new or has new columns, by which its unified view is written."""

from __future__ import annotations

from onefold.events.load.load import Announce, announce_nothing
from onefold.events.load.plan import EventTablePlan
from onefold.messages.table_created import dataset_message, table_message
from onefold.ports.publisher import Message, Publisher


def announcing(publisher: Publisher, topic: str | None, dataset: str) -> Announce:
    """Return a function that announces tables by the values of their labels, which name the base and the version.

    A table that belonged to another base is announced with a message for all views of the dataset, too: the view of the
    other base reads it until it is written again.

    The events themselves have no labels and no view, so nothing is announced of them.

    Args:
        publisher: publishes the messages.
        topic: the topic `table-created`; None where nobody listens.
        dataset: the dataset of the tables.
    """
    if topic is None:
        return announce_nothing

    def announce(plan: EventTablePlan) -> None:
        base, version = plan.table.labels
        if base:
            publisher.publish(topic, [Message(table_message(dataset, base, version))])
        if plan.had_other_base:
            publisher.publish(topic, [Message(dataset_message(dataset))])

    return announce
