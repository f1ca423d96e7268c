"""Every error that Onefold raises on purpose.

OnefoldError
 +- InvalidInput        something given to us is wrong; lists all faults, says what to do
 |   +- InvalidName         a dataset, table or version name that may not meet SQL
 |   +- InvalidType         a type string that is not a BigQuery type
 |   +- InvalidSettings     environment variables or onefold.yaml
 |   +- InvalidMessage      a Pub/Sub message that can never be handled
 |   +- InvalidColumns      rows that are not INFORMATION_SCHEMA.COLUMNS
 |   +- InvalidRecord       a captured row that does not fit its table
 +- SchemaConflict      versions that cannot be one view
 +- LimitExceeded       BigQuery would refuse the view
 +- NotFound        no version, no dataset: final
 +- ViewNameTaken         the name of the view is taken by something else
 +- Rejected            the warehouse refused for good
 |   +- PolicyTagsDenied    a write would drop policy tags that the account may not set again
 |   +- TableRefused        one table cannot be taken: all others can
 +- TryAgain            trouble that may pass: the message should be delivered again
     +- ViewChanged         somebody else wrote the view between our read and our write
     +- TopicRefused        a topic takes no message until somebody changes a grant or the topic
"""

from __future__ import annotations

from collections.abc import Iterable


class OnefoldError(Exception):
    """Base of all errors; its text is meant for the person who has to act."""


class InvalidInput(OnefoldError):
    """All faults of one input, one sentence each."""

    def __init__(self, problems: Iterable[str] | str) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class InvalidName(InvalidInput):
    pass


class InvalidType(InvalidInput):
    pass


class InvalidSettings(InvalidInput):
    pass


class InvalidMessage(InvalidInput):
    pass


class InvalidColumns(InvalidInput):
    pass


class InvalidRecord(InvalidInput):
    pass


class SchemaConflict(InvalidInput):
    pass


class LimitExceeded(InvalidInput):
    pass


class NotFound(OnefoldError):
    pass


class ViewNameTaken(OnefoldError):
    pass


class Rejected(OnefoldError):
    pass


class PolicyTagsDenied(Rejected):
    pass


class TableRefused(Rejected):
    """One source table cannot be read or landed: why, and what remedies it."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"{reason}; {remedy}")


class TryAgain(OnefoldError):
    pass


class ViewChanged(TryAgain):
    pass


class TopicRefused(TryAgain):
    pass
