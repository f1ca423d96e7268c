"""A source, and what `onefold capture --check` says about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from support.capture_receiver import Receiver
from support.cli import Outcome, Run
from support.fake_gcs import ObjectStore
from support.source_database import SourceDatabase, end_of_log

from onefold.mysql.connection import Address

FOLDER = "gs://a-bucket/shop-db"


@dataclass
class Scene:
    """A source, a user who may only read it, and the receivers of messages and tables."""

    source: SourceDatabase
    receiver: Receiver
    objects: ObjectStore
    run: Run
    user: str = ""

    @property
    def address(self) -> Address:
        return replace(self.source.server.address, user=self.user)

    def grant(self, *rights: str, on: str = "*.*") -> None:
        """A user with these rights and no others."""
        self.user = self.user or f"reads_{self.source.name}"
        self.source.run(f"CREATE USER IF NOT EXISTS {self.user}@'%'")
        self.source.run(*(f"GRANT {right} ON {on} TO {self.user}@'%'" for right in rights))

    def command(self, *more: str) -> Outcome:
        address = ("capture", "--host", "127.0.0.1", "--port", str(self.source.server.port), "--user", self.user)
        places = ("--source", "shop-db", "--checkpoint", FOLDER, "--bucket", "gs://a-bucket/records")
        dataset = () if "--dataset" in more else ("--dataset", "shop")
        return self.run(*address, "--include", self.source.name, *places, *dataset, "--check", *more)

    def check(self, *more: str) -> dict[str, Any]:
        """The report, and whether the exit code says the same."""
        done = self.command("--json", *more)
        report: dict[str, Any] = done.result
        assert done.code == (0 if report["ok"] else 2), done.err
        return report

    def state(self) -> dict[str, Any]:
        """Everything that a process of capture could change, and what the server was asked to do."""
        asked = self.source.rows("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
        return {
            "log": end_of_log(self.source.connection),
            "tables": self.source.rows("SHOW TABLES"),
            "objects": dict(self.objects.objects),
            "arrived": list(self.receiver.arrived),
            "asked": {name: int(count) for name, count in asked},
        }

    def problems(self, report: dict[str, Any]) -> dict[str, str]:
        return {one["name"]: " ".join(one["problems"]) for one in report["checks"] if not one["ok"]}
