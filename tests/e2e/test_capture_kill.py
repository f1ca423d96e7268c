"""A process of capture is killed at random moments, again and again, while others write: the current view has every row.

Only here a process ends at a moment that nobody chose; what is lost between two steps that are known, faster tests find.
"""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset
from support.capture import SOURCE, eventually
from support.capture_process import CaptureProcess, Scene
from support.capture_receiver import RECORDS, Receiver, check_order, receiving
from support.current_state import LandedMessages
from support.database_servers import DatabaseServer, MariaDb, MySql
from support.mysql_load import load_on, make_tables
from support.source_database import on

pytestmark = [pytest.mark.long, pytest.mark.heavy]

KILLS = {MariaDb: 12, MySql: 4}
"""Each of the four moments about three times on one server, and once on the other."""
SEED = 20
DATABASES = ("killed_1", "killed_2")
ROWS = 10_500
"""More than one chunk of a copy."""


def live(scene: Scene, life: CaptureProcess, chosen: random.Random) -> None:
    """Let a process live up to a random moment: its start, its first message, a checkpoint, or unconfirmed messages."""
    # A delete scan repairs what a process without a checkpoint has copied, and here it would find no landed rows.
    life.eventually(scene.checkpoint)
    before, position = len(scene.receiver.arrived), position_of(scene)
    until = chosen.choice(("started", "sent", "saved", "unconfirmed"))
    if until in ("sent", "unconfirmed"):
        life.eventually(lambda: any(scene.receiver.messages(RECORDS, before)))
    elif until == "saved":
        life.eventually(lambda: position_of(scene) != position)
    if until == "unconfirmed":
        scene.receiver.answering.clear()
        time.sleep(1.2)  # the checkpoint is looked at meanwhile
    time.sleep(chosen.uniform(0, 0.3))


def lose_what_waits(receiver: Receiver) -> None:
    """Drop the messages that a killed process had sent and that were not taken yet."""
    receiver.down = True
    receiver.answering.set()
    eventually(lambda: receiver.waiting == 0)
    receiver.down = False


def position_of(scene: Scene) -> tuple[str, int] | None:
    now = scene.checkpoint()
    return (now["place"]["file"], now["place"]["offset"]) if now else None


@on(MariaDb, MySql)
def test_no_row_is_lost_by_a_process_that_is_killed_repeatedly_under_load(
    server: DatabaseServer, dataset: EmulatedDataset, tmp_path: Path
) -> None:
    chosen, kills = random.Random(SEED), KILLS[type(server)]
    make_tables(server, DATABASES, ROWS)
    places, copying = set(), 0
    with receiving() as receiver:
        scene = Scene(server, receiver, tmp_path, DATABASES, dataset=dataset.name)
        try:
            with load_on(server, DATABASES, SEED) as load:
                for _ in range(kills):
                    life = scene.start("--snapshot")
                    live(scene, life, chosen)
                    receiver.lost_answers = chosen.randrange(2)
                    life.kill()
                    lose_what_waits(receiver)
                    places.add(position_of(scene))
                    now = scene.checkpoint()
                    copying += bool(now and (now["wanted"] or now["copies"]))
            last = scene.start("--snapshot")
            last.eventually(scene.is_caught_up)
            last.end()
        finally:
            scene.close()
        check_order(receiver.arrived)
        LandedMessages(dataset, receiver).check(server, DATABASES, SOURCE)
        records = [record["metadata"] for record in receiver.records()]
    # The test has met what it is about: a load, a checkpoint that moves, copies that are broken off, rows that come twice.
    changes = [reported["change_sequence_number"] for reported in records if reported["ingestion_method"] == "BINLOG"]
    assert load.transactions > 5 * kills
    assert len(places) > kills / 4
    assert copying > kills / 10
    assert len(changes) - len(set(changes)) > kills / 4
