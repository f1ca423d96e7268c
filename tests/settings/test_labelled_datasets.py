"""Datasets of onefold.yaml whose versions are found by labels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onefold.core.names import TableId
from onefold.core.version_labels import LabelledNames
from onefold.core.version_pattern import DEFAULT_PATTERN
from onefold.core.versioned_names import VersionedNames
from onefold.settings.environment import Settings, load_settings

CUSTOMER = TableId("p", "shop", "customer")
PATTERN = "(?P<base>.+)_(?P<version>[0-9]+|1r[0-9a-f]+)"


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def from_text(text: str) -> Settings:
    Path("onefold.yaml").write_text(text)
    return load_settings({})


def test_versions_are_found_by_labels_where_the_file_says_so() -> None:
    settings = from_text(
        f"""
        exclude: [tmp_.*]
        datasets:
          events: {{version_pattern: labels}}
          clicks: {{version_pattern: labels, include: [com_.*], exclude: []}}
          crm: {{version_pattern: '{PATTERN}'}}
        """
    )
    assert settings.names_in("events") == LabelledNames(exclude=("tmp_.*",))
    assert settings.names_in("clicks") == LabelledNames(include=("com_.*",))
    assert settings.names_in("crm") == VersionedNames(PATTERN, (), ("tmp_.*",))
    everywhere = from_text(f"{{version_pattern: labels, datasets: {{shop: {{version_pattern: '{DEFAULT_PATTERN}'}}}}}}")
    assert (everywhere.names_in("events"), everywhere.names_in("shop")) == (LabelledNames(), VersionedNames())


def test_rows_of_events_have_a_current_view_only_by_declared_keys() -> None:
    settings = from_text("{version_pattern: labels, tables: {customer: {keys: [id]}, click: {keys: [id], current: false}}}")
    kept = {name: settings.rules_for(replace(CUSTOMER, table=name)).keeps_current for name in ("customer", "click", "page")}
    assert kept == {"customer": True, "click": False, "page": False}
    assert Settings().rules_for(CUSTOMER).keeps_current
