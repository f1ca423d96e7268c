"""What the handler of messages about tables logs of a refresh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onefold.core.errors import OnefoldError
from onefold.core.log import in_lines
from onefold.core.text import cut
from onefold.messages.consumer import MessageLog
from onefold.refresh.announce import view_of
from onefold.refresh.limits import limit_warnings
from onefold.refresh.plan import ViewPlan
from onefold.schema.diff import highest_severity

# Google Cloud, Cloud Logging, "Quotas and limits": 256 KB an entry. The topic has all changes, and the field
# `changes_severity` is the highest of all.
MAX_LOGGED_CHANGES = 200
MAX_LOGGED_SETTINGS = 1_000


def fields_of(plan: ViewPlan) -> dict[str, Any]:
    """Return the fields of the line of the log about a refresh."""
    return {
        "action": plan.action,
        "shortcut": plan.shortcut,
        "versions": len(plan.view.versions) if plan.view else None,
        "form": plan.view.form if plan.view else None,
        "changes": [change.as_dict() for change in plan.changes[:MAX_LOGGED_CHANGES]],
        "changes_count": len(plan.changes),
        "changes_severity": highest_severity(plan.changes).name if plan.changes else None,
        "warnings": [*limit_warnings(plan.view), *plan.warnings] if plan.view else None,
        **({"waiting_changes": waiting_of(plan)} if plan.view and plan.view.waiting else {}),
        "unannounced": len(plan.unannounced) or None,
    }


def waiting_of(plan: ViewPlan) -> list[dict[str, str | None]]:
    """Return the changes that a view does not show until somebody decides, as many as a line of the log takes."""
    return [one.as_dict() for one in plan.view.waiting[:MAX_LOGGED_CHANGES]] if plan.view else []


def log_settings(message_log: MessageLog, plan: ViewPlan) -> None:
    """Log the settings with which a view was not written before.

    The settings of the deployment are those that count, so a difference does not keep the view from being written.
    """
    text = "; ".join(map(str, plan.settings))
    message_log.log(
        "WARNING",
        f"{view_of(plan)} had other settings: {cut(text, MAX_LOGGED_SETTINGS)}",
        "settings_changed",
        settings=[change.as_dict() for change in plan.settings[:MAX_LOGGED_CHANGES]],
    )


def log_refused(message_log: MessageLog, content: Mapping[str, Any], error: OnefoldError) -> None:
    """Log all changes of an announcement, in several lines where Cloud Logging needs that.

    Announcements that the view kept before were logged then; now the log says only that they still wait.
    """
    if not content:
        message_log.log("WARNING", f"still not announced: {error}", "unannounced", reason=str(error))
        return
    parts = list(in_lines(content["changes"], MAX_LOGGED_CHANGES)) or [[]]
    for number, changes in enumerate(parts, 1):
        part = {**content, "changes": changes}
        message_log.log(
            "ERROR",
            f"the view {content['view']} changes unannounced: {error}",
            "unannounced",
            reason=str(error),
            part=f"{number}/{len(parts)}",
            announcement=part,
        )


def outcome_of(plan: ViewPlan) -> str:
    """Return what became of a view, for a line of the log."""
    done = {"none": "the view is up to date", "create": "view created", "update": "view updated", "remove": "view removed"}
    return "the view needs no change for this version" if plan.shortcut else done[plan.action]
