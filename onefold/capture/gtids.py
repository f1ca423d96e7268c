"""What a server has executed, by its global transaction identifiers, as the log tells them one after the other.

MySQL's form is `uuid:1-5:7`, a set of numbers for each server; MariaDB's is `0-1-5`, the last of each domain.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

from onefold.errors import InvalidInput

Ranges = tuple[tuple[int, int], ...]
"""First and last numbers, in order, with gaps between them."""
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Executed:
    """A set that is never changed: a place in the log keeps the one of its time."""

    domains: dict[str, str] = field(default_factory=dict)
    """MariaDB's: the last identifier of each domain."""
    servers: dict[str, Ranges] = field(default_factory=dict)
    """MySQL's: the numbers of each server, or of each server and tag."""

    def __bool__(self) -> bool:
        return bool(self.domains or self.servers)

    def __str__(self) -> str:
        """In the server's own form."""
        sets = (f"{server}:{':'.join(map(_range_text, ranges))}" for server, ranges in self.servers.items())
        return ",".join((*self.domains.values(), *sets))

    def plus(self, gtid: str) -> Executed:
        """With one more transaction; the same twice is the same once."""
        if ":" not in gtid:
            return Executed({**self.domains, gtid.partition("-")[0]: gtid}, self.servers)
        server, _, number = gtid.rpartition(":")
        ranges = _with(self.servers.get(server, ()), int(number))
        return Executed(self.domains, {**self.servers, server: ranges})


def read_executed(text: str) -> Executed:
    """A set in the server's own form.

    Raises:
        InvalidInput: it is none.
    """
    domains: dict[str, str] = {}
    servers: dict[str, Ranges] = {}
    try:
        for part in filter(None, (part.strip() for part in text.split(","))):
            if ":" in part:
                server, ranges = _server(part)
                servers[server] = _merged(chain(servers.get(server, ()), ranges))
            else:
                domain, *numbers = (int(number) for number in part.split("-"))
                if len(numbers) != 2:
                    raise ValueError(part)
                domains[str(domain)] = part
    except ValueError as error:
        raise InvalidInput(
            f"{text!r} is no set of GTIDs: write `uuid:1-5,...` as MySQL does, or `0-1-5` as MariaDB"
        ) from error
    return Executed(domains, servers)


def _server(part: str) -> tuple[str, Ranges]:
    """Of `uuid:1-5:7`; a tag of MySQL 8.3 and later (`uuid:tag:1-5`) belongs to the name."""
    name, *sections = part.split(":")
    if sections and not sections[0][:1].isdigit():
        name, sections = f"{name}:{sections[0]}", sections[1:]
    if not sections:
        raise ValueError(part)
    return name, tuple(_range(section) for section in sections)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or first)


def _range_text(numbers: tuple[int, int]) -> str:
    first, last = numbers
    return str(first) if first == last else f"{first}-{last}"


def _with(ranges: Ranges, number: int) -> Ranges:
    """As a rule it is the next one."""
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
