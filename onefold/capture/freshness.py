"""How fresh the log is that was read, measured without a write to the source.

A server that has sent all of its log sends a heartbeat every second. So an idle connection with heartbeats is up to date,
however long ago the last change was. While changes come, each transaction tells when it was committed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from onefold.mysql.binlog.events import LogPosition


@dataclass(frozen=True)
class Freshness:
    """What heartbeats and transactions say about the time up to which the log has been read. Times are seconds since 1970.

    Examples:
        >>> Freshness().at_commit(900, now=1_000).as_of
        900
        >>> Freshness().at_end(now=1_000).at_commit(900, now=1_001).as_of
        1000
    """

    ended_at: int | None = None
    """When the end of the log was last reached, by the clock of this machine."""
    committed_at: int | None = None
    """When the last transaction was committed, by the clock of the source, but never later than it was read."""

    @property
    def as_of(self) -> int | None:
        """Return a time: everything that the source had committed by then has been read. None while it is unknown."""
        if self.ended_at is None or self.committed_at is None:
            return self.committed_at if self.ended_at is None else self.ended_at
        return max(self.ended_at, self.committed_at)

    def at_commit(self, timestamp: int, now: float) -> Freshness:
        """Note a transaction. A session can set any time for its statements, also one in the future."""
        return Freshness(self.ended_at, min(timestamp, int(now)))

    def at_heartbeat(self, position: LogPosition | None, read: LogPosition | None, now: float) -> Freshness:
        """Note a heartbeat. It shows the end of the log only if its position is the one up to which the log was read.

        MySQL sends heartbeats, too, while it skips transactions that were executed already; these have ever greater
        positions. Source: `Binlog_sender::send_events` in sql/rpl_binlog_sender.cc of https://github.com/mysql/mysql-server

        Args:
            position: of the heartbeat.
            read: up to which the log was read before the heartbeat.
            now: the present time.
        """
        return self.at_end(now) if position is not None and position == read else self

    def at_end(self, now: float) -> Freshness:
        """Note that the end of the log is reached."""
        return replace(self, ended_at=int(now))
