"""External tables over the runs of a scene, in moto's Glue, with a step before each of what writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.redshift_scene import RUNS, TABLE, RedshiftScene, run_name
from support.redshift_server import CONNECTION

from onefold.adapters.glue import GlueCatalog
from onefold.adapters.objects_at import run_objects_at
from onefold.adapters.redshift.copies import file_list
from onefold.adapters.redshift.external import SpectrumViews
from onefold.adapters.s3 import S3Objects
from onefold.events.load.external import ExternalReport, ExternalTables
from onefold.events.load.runs import FolderRuns
from onefold.ports.event_tables import Columns
from onefold.ports.external_tables import ExternalTable

ID = ("id", "INT")


def tables(before: Callable[[str], None] = lambda _: None) -> ExternalTables:
    objects = S3Objects()

    def put(address: str, files: Any) -> None:
        before("put")
        objects.write(address, file_list(files))

    views = _ViewSteps(CONNECTION, "acme", "spectrum", "events", sleep=lambda _: None)
    views.before = before
    return ExternalTables(FolderRuns(RUNS, run_objects_at(RUNS)), _Steps(GlueCatalog("acme"), before), views, put)


class _Steps(GlueCatalog):
    """The catalogue, with a step before each of its methods that writes."""

    def __init__(self, catalog: GlueCatalog, before: Callable[[str], None]) -> None:
        super().__init__(catalog._database)
        self._before = before

    def create(self, table: ExternalTable) -> None:
        self._before("create")
        super().create(table)

    def change(self, table: ExternalTable) -> None:
        self._before("change")
        super().change(table)

    def add_runs(self, table: ExternalTable, lists: Any) -> None:
        self._before("add_runs")
        super().add_runs(table, lists)


class _ViewSteps(SpectrumViews):
    """The views, with a step before each is made."""

    before: Callable[[str], None]

    def create(self, table: ExternalTable, loaded: Columns) -> None:
        self.before("view")
        super().create(table, loaded)


def address(number: int) -> str:
    return f"{RUNS}/run={run_name(number)}"


def bring(*, dry_run: bool = False) -> list[ExternalReport]:
    return list(tables().bring(dry_run=dry_run))


def seen(scene: RedshiftScene, *names: str, table: str = TABLE) -> list[tuple[Any, ...]]:
    """Return what the view of a table shows now."""
    with scene.server.connect() as connection:
        scene.server.spectrum.read(connection)
    columns = ", ".join(["TRIM(root_id)", *names])
    return scene.server.query(f'SELECT {columns} FROM events."{table}" ORDER BY 1')
