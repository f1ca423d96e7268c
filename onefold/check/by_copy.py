"""The repair of a captured table: its capture copies it again, while its log goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from onefold.capture.copy_mailbox import CopyMailbox, NoMailbox
from onefold.check.log import CheckLog
from onefold.check.request import CheckedTable
from onefold.core.errors import OnefoldError

ASKED = "a copy was asked for"
"""How the note begins which says so, in the report and in the log of checks."""
PAUSE = timedelta(hours=24)
"""A copy may take hours, and until its end the rows behind it differ: so long no other one is asked for."""


@dataclass(frozen=True)
class CopyRepairer:
    """Asks for copies.

    Attributes:
        mailbox: takes the requests; one that takes none where it is not known where the capture looks for them.
    """

    mailbox: CopyMailbox = field(default_factory=NoMailbox)

    def repair(self, table: CheckedTable, log: CheckLog, *, differs: bool) -> Iterator[str]:
        """Ask for a copy of a captured table that differs, where the request says `fix`, and yield a note about it.

        Args:
            table: the table.
            log: the log of checks, which knows when the last copy was asked for.
            differs: whether it differs from its source.
        """
        request = table.request
        if not request.fix or not request.captured or not differs:
            return
        if table.plain:
            yield "repair it by a backfill of the table in its stream: Onefold does not write it"
        elif isinstance(self.mailbox, NoMailbox):
            again = f"--again {table.name}"
            yield (
                f"captured tables are repaired by a copy: start the capture of {request.tenant_name} with {again}, or let "
                "ONEFOLD_BATCH_CHECKPOINTS name its checkpoint"
            )
        elif log.has_note(table.name.table, ASKED, datetime.now(UTC) - PAUSE):
            yield "a copy was asked for within the last day already: see the log of the capture"
        else:
            yield self._ask(table)

    def _ask(self, table: CheckedTable) -> str:
        """Ask for a copy, and return the note. What the check has found is reported also where that fails."""
        try:
            self.mailbox.post([table.name])
        except OnefoldError as error:
            return f"a copy could not be asked for, the next check tries again: {error}"
        return f"{ASKED}: the capture of {table.request.tenant_name} copies {table.name} again"
