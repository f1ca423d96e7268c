"""Warnings of grants that access.yaml cannot decide about: those of the project and of single tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from onefold.core.errors import OnefoldError
from onefold.core.text import shown_list
from onefold.ports.access import Bypass, Policies


def bypass_warnings(policies: Policies, datasets: Sequence[str], tables: bool) -> Iterator[str]:
    """Yield a warning for each grant that bypasses the file, and for each policy that cannot be read.

    Args:
        policies: the policies of the project and of its tables.
        datasets: the datasets that the file names.
        tables: ask for the policy of each table and view, one request for each.
    """
    if datasets:
        yield from _warnings(policies.of_project, "the project")
    for name in datasets if tables else ():
        yield from _warnings(lambda name=name: policies.of_tables(name), f"the tables of {name}")  # type: ignore[misc]


def _warnings(read: Callable[[], Iterable[Bypass]], subject: str) -> Iterator[str]:
    try:
        for found in read():
            yield f"{found.where} gives {found.role} to {shown_list(found.members)}, whatever the file declares"
    except OnefoldError as error:
        yield f"grants on {subject} are not known: {error}"
