"""Sets of global transaction identifiers (GTIDs): the transactions that a server has executed.

MySQL writes `uuid:1-5:7`, a set of numbers for each server; MariaDB writes `0-1-5`, the last transaction of each domain.
MySQL 8.3 and later have tags, each with numbers of its own: `uuid:1-5:tag:1-3:7` are two sets, those of `uuid` and those of
`uuid:tag`.

Sources: https://dev.mysql.com/doc/refman/8.4/en/replication-gtids-concepts.html, https://mariadb.com/kb/en/gtid/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from onefold.core.errors import InvalidInput

Ranges = tuple[tuple[int, int], ...]
"""First and last numbers, in order, with gaps between them."""
_TAG = re.compile("[a-z_][a-z0-9_]{0,31}")
"""MySQL's rule for tags, which are compared without case ("GTID Format" in MySQL's page above)."""


@dataclass(frozen=True)
class GtidSet:
    """An immutable set of GTIDs: a position in the log keeps the set of its time."""

    domains: dict[str, str] = field(default_factory=dict)
    """MariaDB's: the last identifier of each domain."""
    servers: dict[str, Ranges] = field(default_factory=dict)
    """MySQL's: the numbers of each server, or of each server and tag."""

    def __bool__(self) -> bool:
        return bool(self.domains or self.servers)

    def __str__(self) -> str:
        """Return the set in the server's own form."""
        sets = (f"{server}:{':'.join(map(_range_text, ranges))}" for server, ranges in self.servers.items())
        return ",".join((*self.domains.values(), *sets))

    def plus(self, gtid: str) -> GtidSet:
        """Return the set with one more transaction; adding a transaction twice changes nothing."""
        if ":" not in gtid:
            return GtidSet({**self.domains, gtid.partition("-")[0]: gtid}, self.servers)
        server, _, number = gtid.rpartition(":")
        ranges = _with(self.servers.get(server, ()), int(number))
        return GtidSet(self.domains, {**self.servers, server: ranges})


def read_executed(text: str) -> GtidSet:
    """Return the set that a text in the server's own form describes.

    Raises:
        InvalidInput: the text is not a set of GTIDs.

    Examples:
        >>> str(read_executed("A:1-5:tag:1-3:7"))
        'a:1-5,a:tag:1-3:7'
    """
    domains: dict[str, str] = {}
    servers: dict[str, Ranges] = {}
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            if ":" in part:
                for server, range_ in _ranges(part):
                    servers[server] = _merged(chain(servers.get(server, ()), (range_,)))
            else:
                domain, _, _ = _identifier(part)
                domains[str(domain)] = part
    except ValueError as error:
        raise InvalidInput(
            f"expected a set of GTIDs, got {text!r}: write `uuid:1-5,...` as MySQL does, or `0-1-5` as MariaDB"
        ) from error
    return GtidSet(domains, servers)


def lost(executed: GtidSet, logged: str, applied: str = "") -> GtidSet:
    """Return the executed transactions that a server does not have; for a domain of MariaDB, the last one.

    A sequence number alone is not enough: after a failover, another server may have given the same number to another
    transaction. A server of MariaDB has `domain-server-number` if it has that number or a greater one of the same server.

    Args:
        executed: the transactions that were captured.
        logged: what the server has: MySQL's `gtid_executed`, or MariaDB's `gtid_binlog_state`, which has the last number of
            each domain and server.
        applied: MariaDB's `gtid_slave_pos`. It alone has the transactions that a replica applied before its log began.

    Raises:
        InvalidInput: what the server has is not a set of GTIDs.

    Examples:
        >>> str(lost(read_executed("a:1-5,b:2"), "a:1-3,b:1-9"))
        'a:4-5'
        >>> str(lost(read_executed("0-1-9"), "0-1-8,0-2-9"))
        '0-1-9'
    """
    logged_set, last, exact = read_executed(logged), _last_numbers(logged), {text.strip() for text in applied.split(",")}
    domains = {}
    for name, gtid in executed.domains.items():
        domain, server, number = _identifier(gtid)
        if number > last.get((domain, server), -1) and gtid not in exact:
            domains[name] = gtid
    left = {server: _without(ranges, logged_set.servers.get(server, ())) for server, ranges in executed.servers.items()}
    return GtidSet(domains, {server: ranges for server, ranges in left.items() if ranges})


def _last_numbers(state: str) -> dict[tuple[int, int], int]:
    """Return the last number of each domain and server of MariaDB's `gtid_binlog_state`."""
    found = (_identifier(part) for part in state.split(",") if part.strip() and ":" not in part)
    return {(domain, server): number for domain, server, number in found}


def _identifier(text: str) -> tuple[int, int, int]:
    """Return domain, server and number of MariaDB's `0-1-5`."""
    domain, server, number = (int(part) for part in text.split("-"))
    return domain, server, number


def _ranges(part: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the ranges of `uuid:1-5:tag:1-3:7`, each with its server and tag. A tag applies to all ranges behind it.

    Case is ignored, and blanks are allowed around all parts, because people write `--gtid`.

    Raises:
        ValueError: the part has another form.
    """
    uuid, *sections = (section.strip().lower() for section in part.split(":"))
    name, ended = uuid, False
    for section in sections:
        ended = section[:1].isdigit()
        if ended:
            yield name, _range(section)
        else:
            name = f"{uuid}:{_tag(section)}"
    if not ended:
        raise ValueError(part)


def _tag(text: str) -> str:
    if not _TAG.fullmatch(text):
        raise ValueError(text)
    return text


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    numbers = int(first), int(last or first)
    if not 0 < numbers[0] <= numbers[1]:
        raise ValueError(text)
    return numbers


def _range_text(numbers: tuple[int, int]) -> str:
    first, last = numbers
    return str(first) if first == last else f"{first}-{last}"


def _with(ranges: Ranges, number: int) -> Ranges:
    """Return the ranges with one more number. As a rule it is the next one, which needs no sorting."""
    if ranges and ranges[-1][1] + 1 == number:
        return (*ranges[:-1], (ranges[-1][0], number))
    return _merged(chain(ranges, ((number, number),)))


def _merged(ranges: chain[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _without(ranges: Ranges, others: Ranges) -> Ranges:
    """Return the numbers of `ranges` that `others` does not have.

    Examples:
        >>> _without(((1, 9),), ((2, 3), (5, 5), (9, 12)))
        ((1, 1), (4, 4), (6, 8))
    """
    left: list[tuple[int, int]] = []
    for first, last in ranges:
        for start, end in others:
            if first <= last and start <= last and end >= first:
                left += [(first, start - 1)] if first < start else []
                first = end + 1
        left += [(first, last)] if first <= last else []
    return tuple(left)
