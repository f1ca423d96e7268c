"""All views of a table, brought up to date in their order: unified, current, clean. All that writes views calls this.

A plain change table has no versions, and so no unified view.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from onefold.core.errors import (
    KeyUnknown,
    LimitExceeded,
    NoCleanViews,
    NoCurrentView,
    NoOwnDataset,
    NotFound,
    NoVersions,
    OnefoldError,
    SchemaConflict,
    SettingsChanged,
)
from onefold.core.names import TableId
from onefold.merge.plain import check_own_dataset
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.kind import ViewKind
from onefold.refresh.plan import ViewPlan
from onefold.settings.environment import Settings
from onefold.views.clean_kind import CleanKind
from onefold.views.clean_refresh import Say, keeps_clean
from onefold.views.current_kind import CurrentKind
from onefold.views.newest_load import kind_of
from onefold.views.plain import with_plain_table
from onefold.views.tool_kind import ToolUnifiedKind, part_kinds
from onefold.views.unified_kind import UnifiedKind

Work = Callable[[ViewKind, str | None], ViewPlan]
"""Plans a view, or writes it. A view that has the version, if one is given, need not be computed again."""
Kind = Literal["unified", "current", "clean"]
KINDS: tuple[Kind, ...] = ("unified", "current", "clean")


@dataclass(frozen=True)
class ViewResult:
    """What became of one view of a table: a plan, an error, or the reason why the table has no such view.

    Attributes:
        kind: which view.
        base: the base name of the versioned tables.
        plan: what was done; None where nothing was.
        error: why the view failed.
        skipped: why the table has no such view.
        lacks_dataset: whether that is because the dataset of the view does not exist.
    """

    kind: Kind
    base: TableId
    plan: ViewPlan | None = None
    error: OnefoldError | None = None
    skipped: str = ""
    lacks_dataset: bool = False


@dataclass(frozen=True)
class TableViews:
    """The views of the tables of an installation.

    Attributes:
        warehouse: where the tables are.
        settings: those of the installation.
        work: is called with each view.
        say: called with what nobody sees in a result, as `keeps_clean` says it.
    """

    warehouse: BaseWarehouse
    settings: Settings
    work: Work
    say: Say = lambda *_: None

    def bring_up_to_date(
        self, base: TableId, version: str | None = None, *, former: bool = False, without_clean: Collection[TableId] = ()
    ) -> Iterator[ViewResult]:
        """Yield what becomes of each view. A view that fails does not keep the others from their turn.

        Where there is no version, the current view is left as it is, and the clean view has its turn: what it reads may be
        left, and policies may have changed. A unified view with other settings keeps all views as they are. A table without
        versions is looked at: a plain change table has its current and its clean view.

        Args:
            base: the base name of the versioned tables.
            version: the version that a message names, if any.
            former: whether the current view has its turn also where there is no version, because it is left over.
            without_clean: tables that are known to have no clean view; where nothing changes, none is looked for.
        """
        if plain := self.settings.plain_table(base):
            yield from self._current(base, None, without_clean)
            if plain.mode == "tool":
                yield from self._of_tool(base)
            return
        unified = self._unified(base, version)
        error = unified.error
        if isinstance(error, NoVersions) and version is None and (known := self._knowing(base)):
            yield from known.bring_up_to_date(base, without_clean=without_clean)
            return
        yield unified
        del unified  # its plan has all versions, which the next view reads again
        if isinstance(error, SettingsChanged):
            return
        found = self._current(base, version, without_clean)
        for result in found if former or not isinstance(error, NotFound) else (self._clean(base),):
            # A clean view of a table that is not there says so again.
            if not (result.kind == "clean" and isinstance(error, NotFound) and isinstance(result.error, NotFound)):
                yield result
            del result

    def _unified(self, base: TableId, version: str | None) -> ViewResult:
        """Return what becomes of the unified view. A united table of too many tables has none, and no such view is left.

        A view that was written when there were fewer tables is an error: it would go on without the others.
        """
        kind = UnifiedKind(self.warehouse, base, self.settings)
        is_united = self.settings.rules_for(base).of_united
        if is_united:
            try:
                check_own_dataset(self.warehouse, base, self.settings)
            except OnefoldError as error:
                return ViewResult("unified", base, error=error)
        result = self._result("unified", base, lambda: self.work(kind, version))
        if is_united and isinstance(result.error, LimitExceeded) and self.warehouse.get_view(kind.id) is None:
            return ViewResult("unified", base, skipped=str(result.error))
        return result

    def _of_tool(self, base: TableId) -> Iterator[ViewResult]:
        """Yield what becomes of the unified views of a table that a tool writes: its own, if it needs one, and of its parts.

        What keeps the current view from being written keeps these from it too, and was said.
        """
        own = ToolUnifiedKind(self.warehouse, base, self.settings)
        try:
            kinds: list[UnifiedKind] = [own] if own.is_needed() else []
            kinds += part_kinds(self.warehouse, base, self.settings)
        except SchemaConflict:
            return
        for kind in kinds:
            result = self._result("unified", kind.base, partial(self.work, kind, None))
            if not result.skipped:
                yield result

    def _knowing(self, base: TableId) -> TableViews | None:
        """Return the views of an installation that knows a table as a plain change table; None where it is none."""
        settings = with_plain_table(self.warehouse, base, self.settings)
        return replace(self, settings=settings) if settings.plain_table(base) else None

    def bring_current_up_to_date(
        self, kind: CurrentKind, version: str | None = None, without_clean: Collection[TableId] = ()
    ) -> Iterator[ViewResult]:
        """Yield what becomes of the current view, and then of the clean view over it.

        Args:
            kind: the current view.
            version: as for `bring_up_to_date`.
            without_clean: as for `bring_up_to_date`.
        """
        current = self._result("current", kind.base, lambda: self.work(kind, version))
        is_unchanged = bool(version and current.plan and current.plan.shortcut)
        yield current
        del current
        if not (is_unchanged and kind.base in without_clean):
            yield self._clean(kind.base, version if is_unchanged else None)

    def _current(self, base: TableId, version: str | None, without_clean: Collection[TableId]) -> Iterator[ViewResult]:
        rules = self.settings.rules_for(base)
        if rules.keeps_current:
            yield from self.bring_current_up_to_date(
                kind_of(self.warehouse, base, self.settings, by_itself=True), version, without_clean
            )
            return
        if not rules.current:
            reason = "onefold.yaml sets `current: false`; a view that exists is not written any more"
            yield ViewResult("current", base, skipped=reason)
        yield self._clean(base)

    def _clean(self, base: TableId, version: str | None = None) -> ViewResult:
        def work() -> ViewPlan | None:
            if not keeps_clean(self.warehouse, base, self.settings, self.say):
                return None
            return self.work(CleanKind(self.warehouse, base, self.settings), version)

        return self._result("clean", base, work)

    def _result(self, kind: Kind, base: TableId, work: Callable[[], ViewPlan | None]) -> ViewResult:
        try:
            return ViewResult(kind, base, work())
        except (KeyUnknown, NoCurrentView, NoCleanViews, NoOwnDataset) as error:
            return ViewResult(kind, base, skipped=str(error), lacks_dataset=isinstance(error, NoOwnDataset))
        except OnefoldError as error:
            return ViewResult(kind, base, error=error)
