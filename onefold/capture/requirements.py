"""Requirements of a capture, which are checked before anything is written; all problems are raised at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from onefold.capture.checkpoint_store import InspectableCheckpointStore
from onefold.capture.large_rows import LargeRows
from onefold.core.errors import InvalidInput, InvalidSettings, OnefoldError, TryAgain


class CheckedWarehouse(Protocol):
    """What the checks need of a warehouse."""

    project: str

    @property
    def member(self) -> str:
        """The account that capture runs as, in the form of a grant, such as `serviceAccount:...`."""

    def dataset_problems(self, dataset: str) -> list[str]: ...


class CheckedPublisher(Protocol):
    """What the checks need of a publisher."""

    def topic_problems(self, topic: str, who: str) -> list[str]: ...


@dataclass(frozen=True)
class Requirement:
    """One requirement of a capture.

    `problems` returns every problem with its remedy, and changes nothing. It raises TryAgain for an error that may pass, and
    may raise another OnefoldError instead of returning a single problem.
    """

    name: str
    problems: Callable[[], Sequence[str]]


def destination(
    warehouse: CheckedWarehouse,
    publisher: CheckedPublisher,
    dataset: str,
    topics: Iterable[str],
    store: InspectableCheckpointStore,
    large_rows: LargeRows,
) -> tuple[Requirement, ...]:
    """Return the requirements of the destination: dataset, topics, checkpoint and folder of large rows.

    Args:
        warehouse: where tables are created. It is checked first, because its answer names the account.
        publisher: of messages.
        dataset: of the versioned tables.
        topics: their names; a name that occurs twice is checked once.
        store: of the checkpoint.
        large_rows: where rows too large for a message are written.
    """
    return (
        Requirement("dataset", lambda: warehouse.dataset_problems(dataset)),
        *(_topic(warehouse, publisher, name) for name in dict.fromkeys(topics)),
        Requirement("checkpoint", lambda: store.problems(warehouse.member)),
        Requirement("large rows", lambda: large_rows.problems(warehouse.member)),
    )


def _topic(warehouse: CheckedWarehouse, publisher: CheckedPublisher, name: str) -> Requirement:
    return Requirement(f"topic {name}", lambda: publisher.topic_problems(name, warehouse.member))


def check(requirements: Iterable[Requirement]) -> None:
    """Check all requirements, also after one of them has failed.

    Raises:
        InvalidSettings: all problems that do not pass.
        TryAgain: the only errors are ones that may pass.
        OnefoldError: the error itself, if it is the only one.
    """
    errors = list(_errors(requirements))
    final = [error for error in errors if not isinstance(error, TryAgain)]
    if len(final) == 1:
        raise final[0]
    if final:
        raise InvalidSettings(problem for error in final for problem in problems_of(error))
    if errors:
        raise errors[0]


def problems_of(error: OnefoldError) -> tuple[str, ...]:
    """Return the problems in an error, one sentence each."""
    return error.problems if isinstance(error, InvalidInput) else (str(error),)


def _errors(requirements: Iterable[Requirement]) -> Iterator[OnefoldError]:
    for requirement in requirements:
        try:
            problems = requirement.problems()
        except OnefoldError as error:
            yield error
        else:
            if problems:
                yield InvalidSettings(problems)
