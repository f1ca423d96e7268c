"""Handles messages about versioned and plain change tables: refreshes their views, and announces the changes of views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from onefold.changes.ledger import Ledger
from onefold.changes.versions import ReportedChange
from onefold.core.errors import InvalidMessage, NotFound, NoVersions, OnefoldError, TryAgain
from onefold.core.log import LogSeverity
from onefold.core.names import TableId
from onefold.core.text import counted
from onefold.messages.consumer import MessageLog, Topics, consume, consume_parts
from onefold.messages.envelope import Delivery
from onefold.messages.table_created import (
    DatasetHint,
    Event,
    OtherTable,
    PlainHint,
    TableHint,
    TableHints,
    parse_event,
    table_message,
)
from onefold.ports.publisher import Message, Publisher
from onefold.ports.rows import Row
from onefold.ports.warehouse import BaseWarehouse
from onefold.refresh.announce import announce
from onefold.refresh.kind import ViewKind
from onefold.refresh.left_over import bases_of, left_over_tables, unknown_patterns, unknown_tables
from onefold.refresh.plan import ViewPlan
from onefold.refresh.write import refresh
from onefold.settings.environment import Settings
from onefold.settings.yaml_unite import united_over
from onefold.views.clean import waiting_columns
from onefold.views.handler_log import MAX_LOGGED_CHANGES, fields_of, log_refused, log_settings, outcome_of
from onefold.views.held_values import log_held_values
from onefold.views.left_over import left_over_current, with_gone_plain
from onefold.views.plain import with_plain_table, with_plain_tables
from onefold.views.recorder import Recorder
from onefold.views.table_views import Kind, TableViews, ViewResult

EVENTS: Mapping[Kind, str] = {"unified": "refreshed", "current": "current_refreshed", "clean": "clean_refreshed"}
"""The event of the line of the log about each kind of view."""


@dataclass(frozen=True)
class TableCreatedHandler:
    """Handles the messages of the topic `table-created`."""

    settings: Settings
    warehouse: BaseWarehouse
    publisher: Publisher
    ledger: Ledger | None = None
    """Where changes are recorded; None where they are not."""
    _skipped: dict[TableId, str] = field(default_factory=dict, init=False, compare=False)
    """Tables without a current view, with the reason that was logged, so that not every message logs it again."""
    _without_clean: dict[TableId, str] = field(default_factory=dict, init=False, compare=False)
    """The same of clean views."""

    def handle(self, body: bytes) -> str | None:
        """Handle the body of one request.

        Raises:
            TryAgain: an error that may pass; the message has to be delivered again.
        """
        return consume(body, self._handle, self.warehouse, self.publisher, self.settings.topic_dead_letter)

    def _handle(self, delivery: Delivery, message_log: MessageLog) -> None:
        event = parse_event(delivery.data, self.settings.names_in)
        if isinstance(event, TableHints):
            parts = [replace(delivery, data=part) for part in event.parts]
            topics = Topics(self.settings.topic_dead_letter, self.settings.topic_table_created)
            consume_parts(parts, self._handle, self.warehouse, self.publisher, topics)
            return
        settings, united = self.settings, self._united_over(event)
        if isinstance(event, PlainHint):
            settings = self._knowing(event)
            if not settings.plain_in(event.dataset) and not united:
                event = OtherTable(event.table)
        if isinstance(event, OtherTable):
            message_log.log("DEBUG", f"{event.resource} is no change table", "ignored", table=event.resource)
            return
        message_log.fields |= {name: getattr(event, name, None) for name in ("dataset", "table", "version")}
        problems = self._refusals(event)
        if problems and not united:
            if event.project == self.warehouse.project:  # the filter over the audit log cannot list too many datasets
                message_log.log("DEBUG", "; ".join(problems), "ignored")
                return
            raise InvalidMessage(problems)
        if isinstance(event, DatasetHint):
            self._fan_out(event.dataset, message_log)
            return
        base = TableId(self.warehouse.project, event.dataset, event.table)
        has_own = not problems and (isinstance(event, TableHint) or bool(settings.plain_in(event.dataset)))
        own = [(base, getattr(event, "version", None), settings)] if has_own else []
        errors: list[OnefoldError] = []
        for table, version, known in (*own, *((one, None, self.settings) for one in united)):
            try:
                reported = event.reported if isinstance(event, TableHint) and version else None
                self._refresh_views(table, version, message_log, known, reported)
            except OnefoldError as error:
                errors.append(error)
        _raise_first(errors, message_log)

    def _united_over(self, event: Event) -> tuple[TableId, ...]:
        """Return the united tables that read the table of a message: also of a dataset that ONEFOLD_DATASETS lacks.

        Each tenant that comes brings a dataset, which `unite` of onefold.yaml has named before.
        """
        if not isinstance(event, TableHint | PlainHint) or getattr(event, "version", None):
            return ()
        is_ours = event.project in (None, self.warehouse.project)
        return united_over(self.settings, TableId(self.warehouse.project, event.dataset, event.table)) if is_ours else ()

    def _knowing(self, event: PlainHint) -> Settings:
        """Return the settings, which know the table where it is a plain change table that this function serves."""
        if event.is_gone or self._refusals(event):
            return self.settings
        return with_plain_table(self.warehouse, TableId(self.warehouse.project, event.dataset, event.table), self.settings)

    def _refusals(self, event: TableHint | DatasetHint | PlainHint) -> list[str]:
        """Return why this function does not serve the dataset of a message."""
        problems = []
        if self.settings.datasets is not None and event.dataset not in self.settings.datasets:
            problems.append(f"dataset {event.dataset} is not among ONEFOLD_DATASETS: add it there")
        if event.project and event.project != self.warehouse.project:
            problems.append(f"project {event.project} is not {self.warehouse.project}, which this function serves")
        return problems

    def _fan_out(self, dataset: str, message_log: MessageLog) -> None:
        """Publish a message per table, without a version, so that each view is computed without a shortcut.

        Raises:
            InvalidMessage: no topic is set for these messages.
        """
        topic = self.settings.topic_table_created
        if not topic:
            raise InvalidMessage("a message for a whole dataset needs ONEFOLD_TOPIC_TABLE_CREATED to be set")
        labels = self.warehouse.list_labels(dataset)
        known = with_plain_tables(self.warehouse, dataset, self.settings)
        tables, settings = tuple(labels), known.with_listed(dataset, labels)
        names = settings.names_in(dataset)
        of_united = [name for name in tables if united_over(settings, TableId(self.warehouse.project, dataset, name))]
        bases = list(dict.fromkeys((*bases_of(tables, names), *settings.plain_in(dataset), *names.united, *of_united)))
        self.publisher.publish(topic, [Message(table_message(dataset, base)) for base in bases])
        message_log.log("INFO", f"{len(bases)} tables of {dataset} are to be checked", "fan_out", tables=len(bases))
        self._check_dataset(dataset, settings, tables, message_log)

    def _check_dataset(self, dataset: str, settings: Settings, tables: Sequence[str], message_log: MessageLog) -> None:
        """Log the views whose last version was dropped, and the settings of tables that do not exist.

        Args:
            dataset: the dataset.
            settings: those that know the tables of the dataset.
            tables: the names of all tables of the dataset.
            message_log: the log of the message.
        """
        unified = left_over_tables(self.warehouse, dataset, settings, tables)
        known = with_gone_plain(self.warehouse, dataset, settings, tables)
        gone = [TableId(self.warehouse.project, dataset, name) for name in known.plain_in(dataset) if name not in tables]
        current = (*left_over_current(self.warehouse, dataset, settings, tables), *gone)
        views = [*map(str, map(settings.view_of, unified)), *map(str, map(known.current_view_of, current))]
        if views:
            message_log.log(
                "WARNING",
                f"{counted(len(views), 'view')} of {dataset} read no version that exists: remove them with "
                f"`onefold refresh --dataset {dataset} --all --prune`",
                "views_left_over",
                views=views,
            )
        if unknown := [*unknown_tables(settings, dataset, tables), *unknown_patterns(settings, dataset, tables)]:
            message_log.log("WARNING", "\n".join(unknown), "unknown_tables", warnings=unknown)

    def _refresh_views(
        self,
        base: TableId,
        version: str | None,
        message_log: MessageLog,
        settings: Settings,
        reported: ReportedChange | None = None,
    ) -> None:
        """Bring all views up to date, and log what became of each.

        A table of which another one is united need not have views of its own.

        Raises:
            NotFound: there is no version, so that there is nothing to write.
            OnefoldError: the error of the view that failed; of two errors the one that has the message delivered again.
        """
        recorder = self._recorder(message_log, (version, reported) if version and reported else None)

        def work(kind: ViewKind, version: str | None) -> ViewPlan:
            return self._refresh(version, message_log, kind, recorder)

        def say(severity: LogSeverity, text: str, event: str) -> None:
            if event == "no_clean":
                self._log_without_clean(severity, base.sibling(""), message_log, text)
            else:
                message_log.log(severity, text, event, view=str(settings.clean_view_of(base)))

        errors: list[OnefoldError] = []
        views = TableViews(self.warehouse, settings, work, say)
        for result in views.bring_up_to_date(base, version, without_clean=self._without_clean):
            if isinstance(result.error, NoVersions) and united_over(settings, base):
                return
            if result.error:
                errors.append(result.error)
            else:
                self._log_result(result, message_log)
            del result  # its plan has all versions, which the next view reads again
        _raise_first(errors, message_log, f"{base.dataset}.{base.table}: ")

    def _log_result(self, result: ViewResult, message_log: MessageLog) -> None:
        """Log what became of a view. Why there is none is logged once, and not for each message."""
        base, kind, plan = result.base, result.kind, result.plan
        if result.skipped and kind == "clean":
            self._log_without_clean("WARNING", base, message_log, result.skipped)
        elif result.skipped and kind == "unified":
            text = f"{base.dataset}.{base.table} gets no unified view: {result.skipped}"
            message_log.log("WARNING", text, "no_unified", reason=result.skipped)
        elif result.skipped:
            self._log_skipped(base, result.skipped, message_log)
        elif plan:
            {"current": self._skipped, "clean": self._without_clean}.get(kind, {}).pop(base, None)
            waiting = list(waiting_columns(plan.view.query))[:MAX_LOGGED_CHANGES] if plan.view else None
            message_log.log(
                "NOTICE" if plan.action != "none" else "INFO",
                f"{base.dataset}.{base.table}: {'' if kind == 'unified' else f'{kind} '}{outcome_of(plan)}",
                EVENTS[kind],
                **fields_of(plan),
                **({"waiting": waiting} if kind == "clean" else {}),
            )

    def _log_without_clean(self, severity: LogSeverity, of: TableId, message_log: MessageLog, reason: str) -> None:
        if self._without_clean.get(of) != reason:
            self._without_clean[of] = reason
            message_log.log(severity, reason, "no_clean", reason=reason)

    def _recorder(self, message_log: MessageLog, reported: tuple[str, ReportedChange] | None) -> Recorder | None:
        def say(severity: LogSeverity, text: str, event: str, entry: Row) -> None:
            message_log.log(severity, text, event, entry=entry)

        return Recorder(self.ledger, say, reported) if self.ledger else None

    def _refresh(self, version: str | None, message_log: MessageLog, kind: ViewKind, recorder: Recorder | None) -> ViewPlan:
        def refused(content: Mapping[str, Any], error: OnefoldError) -> None:
            log_refused(message_log, content, error)

        plan = refresh(
            kind,
            version=version,
            announce=lambda made: announce(self.publisher, self.settings, made, refused),
            record=(lambda made: recorder.record(kind, made)) if recorder else None,
        )
        if plan.settings:
            log_settings(message_log, plan)
        if version is None:  # a check of the table, as each night
            log_held_values(self.warehouse, kind, plan, message_log)
        return plan

    def _log_skipped(self, base: TableId, reason: str, message_log: MessageLog) -> None:
        if self._skipped.get(base) != reason:
            self._skipped[base] = reason
            text = f"{base.dataset}.{base.table} gets no current view: {reason}"
            message_log.log("WARNING", text, "no_current", reason=reason)


def _raise_first(errors: list[OnefoldError], message_log: MessageLog, of: str = "") -> None:
    """Raise the most important of several errors, which the caller logs, and log the others.

    Raises:
        OnefoldError: there are errors.
    """
    # What has the message delivered again comes first, and last that there is no version.
    errors.sort(key=lambda error: (not isinstance(error, TryAgain), isinstance(error, NotFound)))
    for other in dict.fromkeys(map(str, errors[1:])):
        if other != str(errors[0]):
            message_log.log("ERROR", f"{of}several views were not written: {other}", "both_failed", reason=other)
    if errors:
        raise errors[0]
