"""Every error that Onefold raises on purpose.

OnefoldError
 +- InvalidInput        an input is wrong; lists all problems, each with what to do
 |   +- InvalidName         a dataset, table or version name that must not reach SQL
 |   +- KeyUnknown          nobody named the columns that identify a row
 |   +- NoCurrentView       the settings exclude a table from current views
 |   +- InvalidType         a type string that is not a BigQuery type
 |   +- InvalidSettings     environment variables or onefold.yaml
 |   +- InvalidPolicy       access.yaml, or a state to which it cannot be applied
 |   +- InvalidMessage      a Pub/Sub message that can never be handled
 |   +- InvalidColumns      rows that are not INFORMATION_SCHEMA.COLUMNS
 |   +- InvalidRecord       a captured row that does not fit its table
 |   +- SchemaConflict      versions that cannot be one view
 |   +- LimitExceeded       BigQuery would refuse the view
 |   +- SettingsChanged     a command would write a view with other settings than it has
 |   +- SchemaInvalid       a JSON Schema that a registry does not take; lists all violations
 +- NotFound            no version, no dataset: final
 |   +- NoVersions          a table without a version that a view could read
 |   +- NameNotFound        a dataset or a table that somebody named does not exist
 |   +- NoCleanViews        there is no dataset for the clean views of a dataset
 |   +- NoOwnDataset        there is no dataset for the base and the views of a plain change table
 +- ViewNameTaken       something else has the name of the view
 +- Rejected            the outside system refused for good
 |   +- PolicyTagsDenied    a write would drop policy tags that the account may not set again
 |   +- TableRefused        one table cannot be taken: all others can
 +- TryAgain            an error that may pass: the message should be delivered again
     +- ViewChanged         somebody else wrote the view between the read and the write
     +- AccessChanged       somebody else wrote the access list between the read and the write
     +- TopicRefused        a topic takes no message until somebody changes a grant or the topic
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onefold.core.problems import Problem


class OnefoldError(Exception):
    """Base of all errors; its text is meant for the person who has to act."""


class InvalidInput(OnefoldError):
    """All problems of one input, one sentence each."""

    def __init__(self, problems: Iterable[str | Problem] | str) -> None:
        self.problems: tuple[str, ...] = (problems,) if isinstance(problems, str) else tuple(map(str, problems))
        super().__init__("\n".join(self.problems))


class InvalidName(InvalidInput):
    """A name of a project, dataset, table or version that must not reach SQL."""


class KeyUnknown(InvalidInput):
    """A table whose key nobody named, and that tells no key itself."""


class NoCurrentView(InvalidInput):
    """A table that `current: false` in onefold.yaml keeps from having a current view."""


class InvalidType(InvalidInput):
    """A text that is not a BigQuery type."""


class InvalidSettings(InvalidInput):
    """Environment variables or an onefold.yaml that cannot be used."""


class InvalidPolicy(InvalidInput):
    """An access.yaml that cannot be used, or cannot be applied to the present state."""


class InvalidMessage(InvalidInput):
    """A Pub/Sub message that can never be handled, however often it is delivered."""


class InvalidColumns(InvalidInput):
    """Rows that are not rows of INFORMATION_SCHEMA.COLUMNS."""


class InvalidRecord(InvalidInput):
    """A captured row that does not fit its versioned table."""


class SchemaConflict(InvalidInput):
    """Versions that cannot be one view, or columns that cannot be one table."""


class LimitExceeded(InvalidInput):
    """A view that BigQuery would refuse for its size."""


class SettingsChanged(InvalidInput):
    """A command would write a view with other settings than those with which the view was written."""


@dataclass(frozen=True)
class Violation:
    """One rule that a schema of a registry violates.

    Attributes:
        path: the place in the schema as a JSON pointer; empty for the whole schema.
        problem: what is wrong.
        allowed: what would be allowed.
    """

    path: str
    problem: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.path or 'schema'}: {self.problem}: {self.allowed}"

    def as_dict(self) -> dict[str, str]:
        return {"path": self.path, "problem": self.problem, "allowed": self.allowed}


class SchemaInvalid(InvalidInput):
    """A JSON Schema that a registry does not take, with every violation."""

    def __init__(self, violations: Iterable[Violation]) -> None:
        self.violations = tuple(violations)
        super().__init__(str(violation) for violation in self.violations)


class NotFound(OnefoldError):
    """A dataset or table that does not exist; a retry does not help."""


class NameNotFound(NotFound):
    """A dataset or a table that somebody named does not exist.

    Attributes:
        dataset: the name of the dataset, without the project.
        table: the name of the table; None where the dataset does not exist.
    """

    def __init__(self, text: str, dataset: str, table: str | None = None, command: str = "") -> None:
        """Make the error.

        Args:
            text: what does not exist.
            dataset: the name of the dataset, without the project.
            table: the name of the table; None where the dataset does not exist.
            command: what creates it; empty where that is not known.
        """
        self.dataset, self.table, self._text, self._command = dataset, table, text, command
        super().__init__(f"{text}; run: {command}" if command else text)

    def with_near(self, near: str) -> NameNotFound:
        """Return the error with a question about a name that exists, in front of the command that creates another one.

        Args:
            near: such as ` (did you mean shop?)`; an empty text for none.

        Examples:
            >>> error = NameNotFound("dataset shpo does not exist", "shpo", command="bq mk shpo")
            >>> print(error.with_near(" (did you mean shop?)"))
            dataset shpo does not exist (did you mean shop?); to create it, run: bq mk shpo
        """
        creation = f"; to create it, run: {self._command}" if self._command else ""
        return NameNotFound(f"{self._text}{near}{creation}", self.dataset, self.table) if near else self


class NoCleanViews(NotFound):
    """A dataset whose clean views nobody wants yet: the dataset for the clean views does not exist."""


class NoOwnDataset(NotFound):
    """The dataset of the base and the current view of a plain change table does not exist."""


class NoVersions(NotFound):
    """A table has no version that a view could read: all were dropped or are retired."""


class NothingToMerge(NotFound):
    """A table that has nothing to merge now: no table or row to read yet, or rows that are no changes."""


class ViewNameTaken(OnefoldError):
    """The name of a view belongs to a table, or to a view that Onefold did not create."""


class Rejected(OnefoldError):
    """A refusal by an outside system that a retry does not change."""


class PolicyTagsDenied(Rejected):
    """A write would drop policy tags that the account may not set again."""


class TableRefused(Rejected):
    """One source table cannot be read or landed.

    Attributes:
        reason: why the table is refused.
        remedy: what a person can do about it.
    """

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(f"{reason}; {remedy}")


class TryAgain(OnefoldError):
    """An error that may pass; a retry, or another delivery of the message, may succeed."""


class Postponed(TryAgain):
    """Rows of a table were not written for a reason that need not be the table's own, such as the end of a connection."""


class ViewChanged(TryAgain):
    """Somebody else wrote the view between the read and the write."""


class AccessChanged(TryAgain):
    """Somebody else wrote the access list of a dataset between the read and the write."""


class AccessDenied(TryAgain):
    """A right on a table is missing, or the table does not exist; a right that was just granted takes a minute to arrive."""


class TopicRefused(TryAgain):
    """A topic takes no message until somebody changes a grant or the topic."""
