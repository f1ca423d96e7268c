"""Merges that are refused: the state in which they begin, and every problem that the error has to name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from support.told_merges import TABLE, port
from support.told_warehouse import ToldView, ToldWarehouse

from onefold.core.errors import OnefoldError
from onefold.merge.apply import merge_changes
from onefold.merge.migrate import prepare
from onefold.merge.plan import MergePlan
from onefold.ports.warehouse import BaseWarehouse
from onefold.settings.environment import Settings

Act = Callable[[BaseWarehouse, MergePlan], object]


@dataclass(frozen=True)
class Refused:
    """A merge that is refused: the state, what is done after `prepare`, and the problems, in full."""

    warehouse: Callable[[], ToldWarehouse]
    error: type[OnefoldError]
    problems: tuple[str, ...]
    after: Act = merge_changes
    settings: Settings = field(default_factory=Settings)
    keys: tuple[str, ...] = ("id",)
    rebuild: bool = False

    def run(self, warehouse: ToldWarehouse) -> None:
        view = ToldView(warehouse)
        plan = prepare(port(warehouse), TABLE, self.settings, view, self.keys, rebuild=self.rebuild)
        self.after(port(warehouse), plan)

    def check(self) -> None:
        """Check that the merge is refused by this very error, with these problems and no others."""
        warehouse = self.warehouse()
        with pytest.raises(self.error) as raised:
            self.run(warehouse)
        assert type(raised.value) is self.error
        assert getattr(raised.value, "problems", (str(raised.value),)) == self.problems
