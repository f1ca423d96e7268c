"""Announcements of a job that refreshes views."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from onefold.adapters.pubsub_rest import RestPublisher
from onefold.core.errors import OnefoldError
from onefold.refresh.announce import announce
from onefold.refresh.plan import Announce
from onefold.settings.environment import Settings


def rest_announcer(project: str, settings: Settings) -> Announce:
    """Return a function that publishes the changes of a view's schema, as the function refresh_view does."""
    publisher = RestPublisher(project)

    def refused(content: Mapping[str, Any], error: OnefoldError) -> None:
        view = content.get("view", "a view")
        sys.stderr.write(f"the change of {view} is not announced yet, and is stored with the view: {error}\n")

    return lambda plan: announce(publisher, settings, plan, refused)
