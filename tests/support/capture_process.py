"""`onefold capture` as a process that can be killed, and its surroundings.

Each process is forked off a server that has imported everything: to start Python and to import Google's libraries takes
longer than many of these lives last.
"""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import capture_child
from support.capture import DATASET, SOURCE, WAIT_SECONDS, eventually
from support.capture_receiver import Receiver
from support.database_servers import READER, DatabaseServer
from support.source_database import end_of_log

from onefold.mysql.connection import connect, query

Row = dict[str, Any]
_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(
    [
        "__main__", "google.cloud.pubsub_v1", "onefold.cli", "onefold_lab.stand_ins.warehouse", "onefold.capture.run",
        "onefold.capture.outbox", "onefold.capture.large_rows",
    ]
)  # fmt: skip


@dataclass
class CaptureProcess:
    """A process that runs or has ended."""

    process: Any
    output: Path

    def kill(self) -> None:
        """Kill the process with SIGKILL. It must not have ended by itself."""
        assert self.process.is_alive(), self.output.read_text()
        self.process.kill()
        self.process.join()

    def end(self) -> None:
        """End the process with SIGTERM, and check that it exits with 0."""
        self.process.terminate()
        self.wait()

    def wait(self) -> None:
        self.process.join(WAIT_SECONDS)
        assert self.process.exitcode == 0, self.output.read_text()

    def eventually(self, condition: Any) -> None:
        """Wait for a condition, and fail at once if the process ends before."""

        def looked() -> bool:
            assert self.process.is_alive(), self.output.read_text()
            return bool(condition())

        eventually(looked)

    def memory(self, kind: str) -> int:
        """Return bytes of memory: `VmRSS` now, or `VmHWM` at most so far."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith(f"{kind}:"))
        return int(kilobytes) * 1024

    def cpu_ticks(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])


@dataclass
class Scene:
    """A source, the receiver of its messages, and the files that survive restarts of a process."""

    server: DatabaseServer
    receiver: Receiver
    folder: Path
    databases: tuple[str, ...]
    bigquery: str = ""
    """Where tables are created; by default at the receiver."""
    dataset: str = DATASET
    environ: dict[str, str] = field(default_factory=dict)
    """More variables of the environment."""
    _lives: list[CaptureProcess] = field(default_factory=list, repr=False)

    @property
    def output(self) -> Path:
        return self.folder / "output"

    def start(self, *options: str) -> CaptureProcess:
        address = ["--host", "127.0.0.1", "--port", str(self.server.port), "--user", READER]
        includes = [word for database in self.databases for word in ("--include", database)]
        places = ["--source", SOURCE, "--dataset", self.dataset, "--checkpoint", str(self.folder / "checkpoint")]
        environ = {
            "ONEFOLD_PROJECT": "local",
            "ONEFOLD_SOURCE_PASSWORD": "",
            "PUBSUB_EMULATOR_HOST": self.receiver.pubsub_address,
            "BIGQUERY_EMULATOR_HOST": self.bigquery or self.receiver.bigquery_address,
            "no_proxy": "127.0.0.1",
            "NO_PROXY": "127.0.0.1",
            **self.environ,
        }
        arguments = ["capture", *address, *includes, *places, *options]
        process = _processes.Process(target=capture_child.run, args=(arguments, environ, self.output), daemon=True)
        process.start()
        life = CaptureProcess(process, self.output)
        self._lives.append(life)
        return life

    def close(self) -> None:
        for life in self._lives:
            life.process.kill()
            life.process.join()

    def run(self, *statements: str) -> None:
        with connect(self.server.address) as connection:
            connection.select_db(self.databases[0])
            for statement in statements:
                query(connection, statement)

    def events(self, event: str) -> list[Row]:
        """Return the complete lines that the processes have logged."""
        lines = self.output.read_text().rpartition("\n")[0].splitlines()
        return [reported for line in lines if line.startswith("{") and (reported := json.loads(line))["event"] == event]

    def checkpoint(self) -> Row | None:
        path = self.folder / "checkpoint" / "checkpoint.json"
        return json.loads(path.read_bytes()) if path.exists() else None

    def is_caught_up(self) -> bool:
        """Tell whether the whole log and every copy is confirmed."""
        with connect(self.server.address) as connection:
            end = end_of_log(connection)
        now = self.checkpoint()
        if not now or now["wanted"] or now["copies"] or not now["place"]:
            return False
        return (now["place"]["file"], now["place"]["offset"]) == (end.file, end.offset)
