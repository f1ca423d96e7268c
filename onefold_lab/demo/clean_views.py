"""Clean views in the demo of loads: policies are drafted and decided, and the clean view is shown beside the full view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onefold.adapters.bigquery.hash_keys import BigQueryHashKeys
from onefold.adapters.bigquery.warehouse import BigQueryWarehouse
from onefold.core.hash_key import HashKey
from onefold.core.names import TableId
from onefold.core.text import cut
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings, load_settings
from onefold.views.clean_kind import CleanKind
from onefold.views.policy_check import DraftedColumn, check_policies, draft_policies
from onefold.views.policy_report import check_lines, draft_lines
from onefold_lab.demo.pulled_source import TABLES
from onefold_lab.demo.pulls import DATASET
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT

SHOWN = TableId(DEFAULT_PROJECT, DATASET, "customer")
_UNDECIDED = "city"
_COLUMNS = ("id", "name", "email", "city", "pin")
_HASH_LENGTH, _DIGITS = 64, 6


@dataclass(frozen=True)
class DemoCleanViews:
    """The clean views of the demo's tables.

    Attributes:
        console: shows them.
        settings: those of an installation without policies.
        config: its onefold.yaml, to which the policies are added.
        warehouse: the embedded BigQuery.
    """

    console: Console
    settings: Settings
    config: Path
    warehouse: BigQueryWarehouse

    def decide(self) -> Settings:
        """Draft policies, add all but one of them to onefold.yaml, and show what waits. Returns the settings with them."""
        tables = [SHOWN.sibling(name) for name in TABLES]
        drafts = {table: draft_policies(self.warehouse, table, self.settings) for table in tables}
        self._print(f"[bold]onefold policies init {DATASET}[/] drafts from names and samples, for customer:")
        self._quote(list(draft_lines([(SHOWN, drafts[SHOWN])]))[3:])
        lines = draft_lines([(table, _decided(drafted)) for table, drafted in drafts.items()])
        self.config.write_text("\n".join([self.config.read_text(), *lines, ""]))
        settings = load_settings({"ONEFOLD_PROJECT": DEFAULT_PROJECT, "ONEFOLD_CONFIG": str(self.config)})
        self._print(f"It goes into onefold.yaml, without {_UNDECIDED}, which is undecided. [bold]onefold policies check[/]:")
        self._quote(list(check_lines([check_policies(self.warehouse, table, settings) for table in tables])))
        return settings

    def write(self, settings: Settings) -> None:
        """Write the key of the hashes and the clean views, as `onefold policies key` and `onefold refresh` do.

        Args:
            settings: those with the policies.
        """
        BigQueryHashKeys(self.warehouse.client).write(settings.key_table_of(SHOWN), HashKey.new(), replace=False)
        for name in TABLES:
            base = SHOWN.sibling(name)
            refresh(CleanKind(self.warehouse, base, settings))

    def show(self) -> None:
        """Show the same rows in the full view and in the clean view."""
        self._print("[bold]onefold policies key[/] and [bold]refresh[/] write the hash key and the clean views:")
        beside = Table.grid(padding=(0, 2, 0, 0))
        beside.add_row(self._table("full view", self._full), self._table("clean view", self._clean))
        self.console.print(beside)
        self._print(f"Of the 64 digits of a hash {_DIGITS} are shown. Readers need one right, on {self._clean.dataset}.")

    def show_city(self, key: int) -> None:
        """Show what both views have for the undecided column of one row."""
        full, clean = (self._city(view, key) for view in (self._full, self._clean))
        self._print(f"  {_UNDECIDED} of customer {key}: {full} in the full view, {clean} in the clean view")

    def _city(self, view: TableId, key: int) -> str:
        (row,) = self.warehouse.fetch(f"SELECT {_UNDECIDED} FROM {view.quoted} WHERE id = {key}")
        return _shown(row[_UNDECIDED])

    @property
    def _full(self) -> TableId:
        return self.settings.current_view_of(SHOWN)

    @property
    def _clean(self) -> TableId:
        return self.settings.clean_view_of(SHOWN)

    def _table(self, title: str, view: TableId) -> Table:
        stored = self.warehouse.get_view(view)
        names = [column.name for column in (stored.columns if stored else ()) if column.name in _COLUMNS]
        table = Table(*names, title=title, title_justify="left")
        for row in self.warehouse.fetch(f"SELECT {', '.join(names)} FROM {view.quoted} ORDER BY id"):
            table.add_row(*(_shown(row[name]) for name in names))
        return table

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False)

    def _quote(self, lines: Sequence[str]) -> None:
        """Print what a command prints."""
        self.console.print("\n".join(f"  {escape(line.strip())}" for line in lines), highlight=False, soft_wrap=True)


def _decided(drafted: Sequence[DraftedColumn]) -> list[DraftedColumn]:
    return [column for column in drafted if column.path != _UNDECIDED]


def _shown(value: object) -> str:
    if value is None:
        return "[dim]NULL[/]"
    text = str(value)
    return cut(text, _DIGITS) if len(text) == _HASH_LENGTH else escape(text)
