"""The digest of an owner: the changes of its tables of which it has not been notified, as one message."""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onefold.changes.entry import Entry
from onefold.changes.groups import ChangeGroup, grouped
from onefold.changes.ids import digest
from onefold.changes.reader_counts import KnownReaders
from onefold.core.text import counted, cut, shown_list
from onefold.schema.diff import Severity
from onefold.settings.owners import Owner, Owners

NotifiedEntry = tuple[str, str]
"""An entry of which an owner was notified: the identifier of the entry, and the pattern of the owner."""
_MOST_CHANGES = 20
"""Changes of a digest in the form of Slack. Slack takes 50 blocks, and refuses messages of more than some 13,000 characters
(https://github.com/slackapi/bolt-js/issues/2509, read 2026-11); each change is a block of at most `_LONGEST` characters."""
_LONGEST = 500
_MOST_IN_JSON = 200
"""Changes of a digest in the form of JSON, and tables of a change."""
_MOST_PARTS = 50
"""Operations, settings, effects and readers of a change in the form of JSON."""
_MOST_BYTES = 1_000_000
"""Bytes of the changes in the form of JSON. A message of Pub/Sub has at most 10 MB
(https://docs.cloud.google.com/pubsub/quotas, read 2026-11), and receivers of webhooks often take less."""
_MAIL = 900
"""Characters of the changes in an e-mail: an alert of Cloud Monitoring takes them as a label of the line of the log."""
_REST = "`onefold changes` lists all"


@dataclass(frozen=True)
class Digest:
    """The changes of which an owner is notified by one message.

    Attributes:
        owner: the owner.
        changes: the changes, the most severe first, and then by time; none where there is nothing new.
    """

    owner: Owner
    changes: tuple[ChangeGroup, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """The identifiers of all entries of the changes."""
        return tuple(entry.id for change in self.changes for entry in change.entries)

    @property
    def id(self) -> str:
        """What names the digest: the same for the same entries, so that a receiver can drop a message that comes twice."""
        return digest("digest", self.owner.pattern, *sorted(self.ids))

    @property
    def title(self) -> str:
        """How many changes of which severity, for people."""
        numbers = [(one, sum(change.severity == one.name for change in self.changes)) for one in reversed(Severity)]
        severities = ", ".join(f"{number:,} {one.name}" for one, number in numbers if number)
        return f"{counted(len(self.changes), 'change')} of {cut(self.owner.pattern)}: {severities}"

    def lines(self, readers: KnownReaders, most: int | None = None) -> list[str]:
        """Return one line for each change: its severity, tables and tenants, operations, effects and readers.

        Args:
            readers: who reads the columns, as far as it is known.
            most: how many lines there are at most; None for all.
        """
        return [_line(change, readers) for change in self.changes[:most]]

    def message(self, readers: KnownReaders) -> dict[str, Any]:
        """Return the message in the form of the owner, as JSON. It has no value of a row and no statement.

        Args:
            readers: who reads the columns, as far as it is known.
        """
        if self.owner.email:
            return self._mail(readers)
        return self._slack(readers) if self.owner.form == "slack" else self._json(readers)

    def _mail(self, readers: KnownReaders) -> dict[str, Any]:
        lines = [cut(line, _LONGEST) for line in self.lines(readers, _MOST_CHANGES)]
        sizes = itertools.accumulate(len(line) + 1 for line in lines)
        kept = [line for line, size in zip(lines, sizes, strict=True) if size <= _MAIL]
        return {**self._head(), "shown": "\n".join([*kept, *self._more(len(kept))])}

    def _slack(self, readers: KnownReaders) -> dict[str, Any]:
        lines = [cut(line, _LONGEST) for line in self.lines(readers, _MOST_CHANGES)]
        texts = [self.title, *lines, *self._more(len(lines))]
        return {"text": _escaped(self.title), "blocks": [_block(text) for text in texts]}

    def _json(self, readers: KnownReaders) -> dict[str, Any]:
        found = [_change(change, readers) for change in self.changes[:_MOST_IN_JSON]]
        sizes = itertools.accumulate(len(json.dumps(one)) for one in found)
        changes = [one for one, size in zip(found, sizes, strict=True) if size <= _MOST_BYTES]
        left = {"left_out": len(self.changes) - len(changes), "more": "".join(self._more(len(changes)))}
        return {**self._head(), "changes": changes, **left}

    def _more(self, shown: int) -> list[str]:
        """Return the line that says how many changes are left out; none where all are shown."""
        left = len(self.changes) - shown
        return [f"and {left:,} more: {_REST}"] if left else []

    def _head(self) -> dict[str, Any]:
        severity = self.changes[0].severity if self.changes else None
        return {"digest": self.id, "owner": self.owner.pattern, "severity": severity, "text": self.title}


def digests(entries: Iterable[Entry], notified: Collection[NotifiedEntry], owners: Owners) -> tuple[Digest, ...]:
    """Return the digest of each owner, in the order of the owners.

    A migration of 300 tenants is one change of one digest. A change counts by the worst of its entries.

    Args:
        entries: the entries of the ledger.
        notified: of what the owners were notified already.
        owners: who is notified.
    """
    found: dict[Owner, list[Entry]] = {owner: [] for owner in owners.all}
    by_table: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        by_table.setdefault((entry.dataset, entry.table), []).append(entry)
    for (dataset, table), of_table in by_table.items():
        for owner in owners.of_table(dataset, table):
            found[owner] += [entry for entry in of_table if (entry.id, owner.pattern) not in notified]
    return tuple(Digest(owner, _severe(grouped(own), owner.severity)) for owner, own in found.items())


def _severe(changes: Iterable[ChangeGroup], least: Severity) -> tuple[ChangeGroup, ...]:
    ranked = [(Severity[change.severity], change) for change in changes]
    return tuple(change for rank, change in sorted(ranked, key=lambda one: -one[0]) if rank >= least)


def _line(change: ChangeGroup, readers: KnownReaders) -> str:
    facts = [shown_list(change.facts(), joint="; "), *change.readers_text(readers)]
    return f"{change.severity} {change.title} {change.id}: {'; '.join(facts)}"


def _change(change: ChangeGroup, readers: KnownReaders) -> dict[str, Any]:
    first, read = change.first, change.readers(readers)
    return {
        "id": change.id,
        "severity": change.severity,
        "origin": first.origin,
        "tables": [cut(name, _LONGEST) for name in change.tables[:_MOST_IN_JSON]],
        "table_count": len(change.tables),
        "tenant_count": len(change.tenants),
        "recorded_at": first.recorded_at.isoformat(),
        "version_before": first.version_before,
        "version_after": first.version_after,
        "decision": first.decision,
        "operations": [_short(one.as_dict()) for one in first.operations[:_MOST_PARTS]],
        "operation_count": len(first.operations),
        "settings": [_short(one.as_dict()) for one in first.settings[:_MOST_PARTS]],
        "setting_count": len(first.settings),
        "effects": [_short(vars(one)) for one in change.effects[:_MOST_PARTS]],
        "effect_count": len(change.effects),
        "readers": [_short(one.as_count()) for one in read[:_MOST_PARTS]],
        "reader_count": len(read),
    }


def _short(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of a change with texts of a bounded length: a type of BigQuery may have a megabyte."""
    return {name: cut(value, _LONGEST) if isinstance(value, str) else value for name, value in part.items()}


def _block(text: str) -> dict[str, Any]:
    """Return a block of plain text, in which Slack reads neither links nor mentions."""
    return {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}


def _escaped(text: str) -> str:
    """Return a text with the characters escaped that begin links and mentions in a message of Slack."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
