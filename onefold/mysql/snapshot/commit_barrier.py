"""A barrier for commits: on MySQL, waits until tables show every transaction that is in the log, without a lock.

MySQL writes a transaction to the log before tables show it. While it commits, the server counts the transaction as under
way: its GTID is in `gtid_owned`, or without GTIDs it is one of the transactions that `Ongoing_anonymous_transaction_count`
counts. Both end only after the storage engine has committed
(https://dev.mysql.com/doc/refman/8.4/en/replication-mode-change-online-enable-gtids.html waits for the same count).
"""

from __future__ import annotations

import re
import time

import pymysql

from onefold.mysql.connection import query

BARRIER_SECONDS = 2.0
_PAUSE_SECONDS = 0.002
_COUNT = "SHOW GLOBAL STATUS LIKE 'Ongoing\\_anonymous\\_transaction\\_count'"
_OWNED = "SELECT @@GLOBAL.gtid_owned"


def tables_show_log(connection: pymysql.Connection, seconds: float = BARRIER_SECONDS) -> bool:
    """Wait until tables show every transaction that was in the log before the call.

    Args:
        connection: a connection to the server, without an open view.
        seconds: the longest wait.

    Returns:
        Whether they do. False if the server cannot tell, which is so with MariaDB, or if transactions were still being
        committed at the end of the wait.
    """
    if not query(connection, _COUNT):
        return False
    end = time.monotonic() + seconds
    owned = owned_gtids(_text(connection))
    anonymous = _has_anonymous(connection)
    while (owned or anonymous) and time.monotonic() < end:
        time.sleep(_PAUSE_SECONDS)
        # Transactions that have begun to commit meanwhile do not count.
        owned &= owned_gtids(_text(connection))
        anonymous = anonymous and _has_anonymous(connection)
    return not (owned or anonymous)


def owned_gtids(text: str) -> frozenset[str]:
    """Return the GTIDs in the value of `gtid_owned`, each with the thread that owns it.

    Examples:
        >>> sorted(owned_gtids("0a1b:7#42:8#43, 2c3d:tag:1#9"))
        ['0a1b:7#42', '0a1b:8#43', '2c3d:tag:1#9']
    """
    found = []
    for of_server in re.sub(r"\s", "", text).split(","):
        prefix: list[str] = []
        for part in of_server.split(":"):
            if "#" in part:
                found.append(":".join([*prefix, part]))
            else:
                prefix.append(part)
    return frozenset(found)


def _text(connection: pymysql.Connection) -> str:
    return query(connection, _OWNED)[0][0] or ""


def _has_anonymous(connection: pymysql.Connection) -> bool:
    return str(query(connection, _COUNT)[0][1]) != "0"
