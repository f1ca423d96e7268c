"""The settings of tables of events: where the runs of the shredder are, and the dataset of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from onefold.core.errors import InvalidSettings
from onefold.core.names import problems_of_name
from onefold.core.problems import Problem
from onefold.core.text import shortened
from onefold.settings.batches import FOLDER

VARIABLES = {
    "ONEFOLD_EVENTS_DATASET": "the dataset of the tables of events, which load_shredded creates and loads",
    "ONEFOLD_EVENTS_RUNS": "the folder of the runs of the shredder, gs://BUCKET/FOLDER, which load_shredded loads",
}


@dataclass(frozen=True)
class EventSettings:
    """The settings of tables of events; None where a variable is not set.

    Attributes:
        dataset: the dataset of the tables.
        runs: the folder of the runs.
    """

    dataset: str | None = None
    runs: str | None = None

    def require_all(self) -> tuple[str, str]:
        """Return the dataset and the folder of the runs.

        Raises:
            InvalidSettings: one of them is not set.
        """
        named = {"ONEFOLD_EVENTS_DATASET": self.dataset, "ONEFOLD_EVENTS_RUNS": self.runs}
        missing = [f"{name} is not set: set it to {VARIABLES[name]}" for name, value in named.items() if not value]
        if missing or self.dataset is None or self.runs is None:
            raise InvalidSettings(missing)
        return self.dataset, self.runs


def event_problems(environ: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the variables."""
    found = read_event_settings(environ)
    if found.dataset:
        yield from (Problem(text, file="ONEFOLD_EVENTS_DATASET") for text in problems_of_name("dataset", found.dataset))
    runs = found.runs
    if runs and not runs.startswith("file:///") and (not FOLDER.fullmatch(runs) or ".." in runs.split("/")):
        advice = "write gs://bucket/folder, or file:///folder on a laptop"
        yield Problem(f"ONEFOLD_EVENTS_RUNS {shortened(runs)} is not a folder: {advice}")


def read_event_settings(environ: Mapping[str, str]) -> EventSettings:
    """Return the settings of the variables, which `event_problems` checks."""
    runs = environ.get("ONEFOLD_EVENTS_RUNS", "").rstrip("/")
    return EventSettings(environ.get("ONEFOLD_EVENTS_DATASET") or None, runs or None)
