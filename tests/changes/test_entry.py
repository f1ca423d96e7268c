"""The severity of an entry follows from what readers of the views notice."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from onefold.changes.entry import Effect, EffectKind, Entry, SettingChange
from onefold.schema.diff import SchemaChange, Severity

REMOVED = SchemaChange("removed", "zip", Severity.CRITICAL, old="STRING")
ADDED = SchemaChange("added", "zip", Severity.INFO, new="STRING")


def entry(*kinds: EffectKind, operation: SchemaChange = REMOVED, settings: tuple[SettingChange, ...] = ()) -> Entry:
    effects = tuple(Effect("p.shop.customer_unified", kind, "zip") for kind in kinds)
    return Entry(
        "0" * 32, datetime(2026, 1, 1, tzinfo=UTC), "capture", "shop", "customer", (operation,), effects, settings=settings
    )


@pytest.mark.parametrize(
    ("kind", "severity"),
    [
        ("new column", "INFO"),
        ("hidden", "INFO"),
        ("nothing", "INFO"),
        ("cast", "WARNING"),
        ("null", "WARNING"),
        ("lossy cast", "CRITICAL"),
        ("removed", "CRITICAL"),
    ],
)
def test_a_lossy_cast_is_no_added_column(kind: EffectKind, severity: str) -> None:
    assert entry(kind).severity.name == severity


def test_the_worst_effect_decides() -> None:
    assert entry("new column", "null", "nothing").severity is Severity.WARNING


def test_a_column_that_the_source_dropped_is_critical_only_where_no_view_keeps_it() -> None:
    assert entry("nothing").severity is Severity.INFO
    assert entry().severity is Severity.CRITICAL


def test_a_setting_is_a_warning_at_least() -> None:
    setting = SettingChange("types.id", None, "STRING")
    assert entry("nothing", operation=ADDED, settings=(setting,)).severity is Severity.WARNING
    assert entry("removed", operation=ADDED, settings=(setting,)).severity is Severity.CRITICAL


def test_what_waits_is_a_warning_at_least_until_it_is_decided() -> None:
    waiting = replace(entry("hidden", operation=ADDED), decision="waiting")
    assert waiting.severity is Severity.WARNING
    assert replace(waiting, decision="accepted").severity is Severity.INFO
    assert replace(entry("removed"), decision="waiting").severity is Severity.CRITICAL


def test_retiring_a_version_is_what_its_effects_are() -> None:
    setting = SettingChange("retire", None, "01")
    assert entry("nothing", operation=ADDED, settings=(setting,)).severity is Severity.INFO
    assert entry("removed", operation=ADDED, settings=(setting,)).severity is Severity.CRITICAL
    other = SettingChange("time_zone", None, "Europe/Berlin")
    assert entry("nothing", operation=ADDED, settings=(setting, other)).severity is Severity.WARNING
