"""The owners of tables in onefold.yaml: who is notified of changes, where, and of which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from onefold.core.names import fold_hidden
from onefold.schema.diff import Severity
from onefold.schema.patterns import full_table, most_specific

MessageForm = Literal["slack", "json"]
"""The form of a message: that of Slack's incoming webhooks, or plain JSON (docs/how-to/notify-owners-of-changes.md)."""


@dataclass(frozen=True)
class Owner:
    """Who is notified of the changes of tables.

    Attributes:
        pattern: the tables, as `order*` or `shop.order`; it is the name of the owner, too.
        webhook: where the address of the webhook is, never the address: `projects/P/secrets/S[/versions/V]`, `env:NAME` or
            `file:PATH`; empty for another channel.
        form: the form of its messages.
        severity: changes below this severity are left out.
        topic: the topic of Pub/Sub, `projects/P/topics/T`; empty for another channel.
        email: the address to which Cloud Monitoring sends an e-mail; empty for another channel.
    """

    pattern: str
    webhook: str
    form: MessageForm
    severity: Severity = Severity.INFO
    topic: str = ""
    email: str = ""

    @property
    def full_pattern(self) -> str:
        """The pattern as it is compared."""
        return full_pattern(self.pattern)


def full_pattern(pattern: str) -> str:
    """Return a pattern of tables as it is compared: with a dataset, without case.

    Examples:
        >>> full_pattern("Order*"), full_pattern("shop.order*")
        ('*.order*', 'shop.order*')
    """
    return fold_hidden(full_table(pattern))


@dataclass(frozen=True)
class Owners:
    """All owners, in the order of onefold.yaml."""

    all: tuple[Owner, ...] = ()

    def of_table(self, dataset: str, table: str) -> tuple[Owner, ...]:
        """Return the owners of a table: those of the most specific patterns, several only if none is within another.

        Examples:
            >>> owners = Owners(tuple(Owner(one, "env:HOOK", "slack") for one in ("*", "order*", "*items")))
            >>> [[one.pattern for one in owners.of_table("shop", name)] for name in ("customer", "orders", "order_items")]
            [['*'], ['order*'], ['order*', '*items']]
        """
        closest = most_specific([one.full_pattern for one in self.all], fold_hidden(f"{dataset}.{table}"))
        return tuple(one for one in self.all if one.full_pattern in closest)


NO_OWNERS = Owners()
