"""What has to be in order before capture writes anything: each thing by its name, and all faults at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from onefold.capture.checkpoint_store import InspectableCheckpointStore
from onefold.capture.large_rows import LargeRows
from onefold.core.errors import InvalidInput, InvalidSettings, OnefoldError, TryAgain


class CheckedWarehouse(Protocol):
    """What a check needs of a warehouse."""

    project: str

    @property
    def member(self) -> str:
        """Who asks, as a grant names it."""

    def dataset_problems(self, dataset: str) -> list[str]: ...


class CheckedPublisher(Protocol):
    """What a check needs of a publisher."""

    def topic_problems(self, topic: str, who: str) -> list[str]: ...


@dataclass(frozen=True)
class Requirement:
    """One thing that capture needs. `faults` returns every fault with its remedy, and changes nothing.

    It raises TryAgain for trouble that may pass, and another OnefoldError instead of a single fault.
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
    """Return what capture writes to.

    Args:
        warehouse: where tables are made. It is asked first: only then is it known for sure who asks.
        publisher: of messages.
        dataset: of the versioned tables.
        topics: their names; one that is named twice is asked for once.
        store: of the checkpoint.
        large_rows: where rows go that are too large for a message.
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
    """Ask for each requirement, whatever has become of the others.

    Raises:
        InvalidSettings: every fault. What is wrong for good is told although something else may pass.
        TryAgain: nothing is wrong for good, and something did not answer.
        OnefoldError: the only error, where there is one.
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
    """Return the faults that an error tells, one sentence each."""
    return error.problems if isinstance(error, InvalidInput) else (str(error),)


def _errors(requirements: Iterable[Requirement]) -> Iterator[OnefoldError]:
    for one in requirements:
        try:
            problems = one.problems()
        except OnefoldError as error:
            yield error
        else:
            if problems:
                yield InvalidSettings(problems)
