"""The checkpoint with which a process starts: the stored one or a new one, changed as the options ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

from onefold.capture.checkpoint import Checkpoint, CopyRequest, check_owner
from onefold.capture.checkpoint_store import CheckpointStore
from onefold.capture.epochs import epoch_with_copies, next_epoch
from onefold.capture.options import CaptureOptions
from onefold.capture.source import CapturedSource
from onefold.capture.state import behind, lowest
from onefold.core.errors import InvalidInput
from onefold.core.log import log
from onefold.core.text import shown_list
from onefold.landing.row_writer import LandingRules, rule_problems, unused_columns
from onefold.mysql.catalog import TableName
from onefold.mysql.table_filter import TableFilter
from onefold.settings.captures import lost_rules


def check_rules(found: Checkpoint, options: CaptureOptions) -> None:
    """Check that no rule of columns is lost since the checkpoint, unless the options accept that.

    Raises:
        InvalidInput: lists the rules that onefold.yaml has no longer.
    """
    lost = lost_rules(found.rules.rules, options.rules.rules)
    followed = [str(table) for table, _ in found.rules.followed] if options.accept_fewer_rules else []
    if lost and not options.accept_fewer_rules:
        raise InvalidInput(
            f"expected every rule of `captures` that the checkpoint knows, and onefold.yaml lacks {shown_list(lost)}: put "
            "them back, or start once with --accept-fewer-rules; these columns land clear then"
        )
    if lost or followed:
        log(
            "WARNING", "rules of columns do not count any more, as accepted with --accept-fewer-rules: "
            f"{shown_list([*lost, *(f'those that followed names of {table}' for table in followed)])}",
            event="fewer_rules_accepted", rules=lost, tables=followed,
        )  # fmt: skip


@dataclass(frozen=True)
class CheckpointAtStart:
    """The first checkpoint of a process."""

    checkpoint: Checkpoint
    """The one to start from."""
    stored: Checkpoint
    """The checkpoint without the requests of the options: the one in the store, unless it is new."""
    is_new: bool
    """Whether the store had no checkpoint."""


@dataclass(frozen=True)
class CheckpointLoader:
    """Loads or makes the first checkpoint of a process."""

    source: CapturedSource
    store: CheckpointStore
    options: CaptureOptions
    now: Callable[[], float]
    """Seconds since 1970: they become epochs."""

    def load(self) -> CheckpointAtStart:
        """Load the stored checkpoint, or make a new one, and add what the options ask for.

        Raises:
            InvalidInput: the checkpoint is of another source or dataset.
            Rejected: another process works with the checkpoint.
            TryAgain: the source or the store does not answer.
        """
        found = self.store.load()
        stored = self._checked(found) if found else self._new()
        return CheckpointAtStart(self._with_requests(stored, is_new=found is None), stored, is_new=found is None)

    def epoch_after(self, last: int) -> int:
        """Return an unused epoch that is at least the epoch of the options."""
        return max(self.options.epoch, next_epoch(last, self.now()))

    def _checked(self, found: Checkpoint) -> Checkpoint:
        check_owner(found, self.options.source, self.options.dataset)
        check_rules(found, self.options)
        return self._begin_epoch(found) if found.epoch < self.options.epoch else found

    def _begin_epoch(self, found: Checkpoint) -> Checkpoint:
        """Begin the requested epoch, and save it before anything of it is published."""
        epoch = self.epoch_after(found.epoch)
        new = epoch_with_copies(found, epoch, self.source.log_end(epoch), self.source.tables())
        self.store.save(new)
        tables = len(new.copy_requests)
        log("WARNING", f"epoch {epoch} begins, as requested: {tables} tables are copied again", event="epoch_begun")
        return new

    def _new(self) -> Checkpoint:
        start, epoch = self.options.start, self.epoch_after(0)
        reached = self.source.with_executed(start) if start else self.source.log_end(epoch)
        reached = replace(reached, position=reached.position and replace(reached.position, epoch=epoch))
        return Checkpoint(self.options.source, self.options.dataset, epoch, reached)

    def _with_requests(self, found: Checkpoint, is_new: bool) -> Checkpoint:
        """Add requests for the tables that are to be copied now, and remove those of tables that are not captured."""
        is_first = self.options.snapshot and not found.copied
        ruled = self._ruled_otherwise(found, is_new)
        again, before, now = self.options.again, found.patterns, self.source.patterns
        has_new_patterns = found.copied and before not in (None, now)
        tables = self.source.tables() if is_first or again or has_new_patterns else []
        added = [one for one in tables if has_new_patterns and before and not before.match(one.database, one.table)]
        requested = [one for one in tables if is_first or (again and again.match(one.database, one.table))]
        found = _without_uncaptured(found, now)
        if (is_first or again) and not requested:
            log("WARNING", "nothing to copy: no table that the user may read fits the patterns", event="nothing_to_copy")
        # The rows of prepared XA transactions in the added tables were not published. Their copies rank above these rows,
        # so that the tables are copied again when the transactions are committed.
        prepared = tuple(replace(one, tables=one.tables.union(added)) for one in found.reached.prepared)
        below = [] if is_first else [behind(one.position) for one in prepared]
        since = max([lowest(found.epoch), *below], key=attrgetter("order"))
        requests = [CopyRequest(table, since) for table in dict.fromkeys([*added, *requested]) if table not in ruled]
        return replace(
            found,
            copied=found.copied or (is_first and bool(requested)),
            reached=replace(found.reached, prepared=prepared),
            copy_requests=(*found.copy_requests, *requests, *self._copies_of(ruled, found.epoch)),
            patterns=now,
            rules=self._rules(found).applied,
            ruled_tables=() if self.options.accept_fewer_rules else found.ruled_tables,
        )

    def _rules(self, found: Checkpoint) -> LandingRules:
        """Return the rules to start with: those of onefold.yaml, and those that have followed a name."""
        return replace(self.options.rules, followed=() if self.options.accept_fewer_rules else found.rules.followed)

    def _ruled_otherwise(self, found: Checkpoint, is_new: bool) -> list[TableName]:
        """Return the tables whose landed rows have landed under other rules of columns than the present ones.

        Args:
            found: the checkpoint.
            is_new: whether there was no checkpoint, so that nothing has landed.

        Raises:
            InvalidInput: the rules are new, and tables cannot be captured under them. Under rules that capture has accepted
                before, it is the table that has changed: it goes into quarantine instead.
        """
        rules, before = self._rules(found), found.patterns
        if rules.applied == found.rules:
            return []
        structures = self.source.structures()
        problems = list(rule_problems(rules, structures.items())) if rules.rules != found.rules.rules else []
        if problems:
            raise InvalidInput([*problems, "correct `captures` in onefold.yaml"])
        if unused := unused_columns(rules.rules, structures.items()):
            shown = shown_list(unused)
            text = f"no captured table has these columns of `captures`: {shown}"
            log("WARNING", text, event="rules_unused", columns=unused)
        if is_new:
            return []
        captured = [name for name in sorted(structures) if before is None or before.match(name.database, name.table)]
        return [name for name in captured if rules.applied.differ(found.rules, name.database, structures[name])]

    def _copies_of(self, tables: list[TableName], epoch: int) -> list[CopyRequest]:
        """Request copies as of the present end of the log.

        A former process may have published rows under the former rules up to there, and the copies have to rank above them.
        """
        if not tables:
            return []
        log(
            "NOTICE", f"rules of columns, or the key of hashes, have changed: {len(tables)} tables are copied again",
            event="rules_changed", tables=list(map(str, tables)),
        )  # fmt: skip
        end = self.source.end_position(epoch)
        return [CopyRequest(table, end) for table in tables]


def _without_uncaptured(found: Checkpoint, patterns: TableFilter) -> Checkpoint:
    """Remove copies of tables that are not captured any more. Delete scans go on: their rows have landed."""

    def is_captured(table: TableName) -> bool:
        return patterns.match(table.database, table.table)

    requests = tuple(request for request in found.copy_requests if is_captured(request.table))
    copies = tuple(copy for copy in found.copies if is_captured(TableName(copy.database, copy.table)))
    return replace(found, copy_requests=requests, copies=copies)
