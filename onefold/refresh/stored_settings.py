"""The settings with which a view was written, as a comment at the start of its text.

A command that runs without the deployment's onefold.yaml would write the view with other settings. The comment tells which
settings would change, and people who open the view read by what rules it was made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onefold.changes.entry import SettingChange
from onefold.core.errors import SettingsChanged
from onefold.schema.table_rules import TableRules

_START, _LINE = "-- settings: {", "-- "
_OF_TYPES = ("conversions", "mixed_numbers", "time_zone")

StoredSettings = Mapping[str, str | list[str]]
"""The settings that are not the default, by their names in onefold.yaml."""


def view_settings(rules: TableRules, current: bool = False, pull_mode: str | None = None) -> StoredSettings:
    """Return the settings that decide the text of a view, as far as they are not the default.

    Args:
        rules: the rules of the table.
        current: whether it is a current view, which depends on more settings than a unified view.
        pull_mode: of a current view, how the table is pulled, `incremental` or `full`; None for a table that is not pulled.

    Examples:
        >>> view_settings(TableRules(conversions="classic", retired=frozenset(["b", "a"])))
        {'conversions': 'classic', 'retire': ['a', 'b']}
        >>> view_settings(TableRules(keys=("id",), overlap_minutes=5), current=True)
        {'keys': ['id'], 'overlap_minutes': '5'}
    """
    return dict((*_settings(rules), *(_settings_of_current(rules, pull_mode) if current else ())))


def _settings_of_current(rules: TableRules, pull_mode: str | None) -> Iterator[tuple[str, str | list[str]]]:
    if pull_mode:
        yield "mode", pull_mode
    if rules.keys:
        yield "keys", list(rules.keys)
    if rules.order_by:
        yield "order_by", list(rules.order_by)
    if rules.tool and rules.rows:
        yield "tool", rules.tool
        yield "rows", rules.rows
    if rules.overlap_minutes != TableRules().overlap_minutes:
        yield "overlap_minutes", str(rules.overlap_minutes)


def _settings(rules: TableRules) -> Iterator[tuple[str, str | list[str]]]:
    default = TableRules()
    for name in (*_OF_TYPES, "version_column"):
        if (value := getattr(rules, name)) != getattr(default, name):
            yield name, value or "none"
    units = {path: f" from {unit}" for path, unit in rules.units}
    yield from ((f"types.{path}", f"{type_}{units.get(path, '')}") for path, type_ in sorted(rules.types))
    if rules.retired:
        yield "retire", sorted(rules.retired)
    for name in ("new_columns", "types", "dropped"):
        if (value := getattr(rules.contract, name)) != getattr(default.contract, name):
            yield f"contract.{name}", value
    if rules.names.pattern != default.names.pattern:
        yield "version_pattern", rules.names.pattern
    for name in ("include", "exclude"):
        if patterns := getattr(rules.names, name):
            yield name, list(patterns)


def settings_comment(rules: TableRules, current: bool = False, pull_mode: str | None = None) -> str:
    r"""Return the comment for the start of a view's text; the arguments are those of `view_settings`.

    Examples:
        >>> print(settings_comment(TableRules(time_zone="Europe/Berlin")), end="")
        -- settings: {
        --   "time_zone": "Europe/Berlin"
        -- }
    """
    # JSON in ASCII has no line end within a text, so nothing leaves the comment. A backtick is escaped as well: the names of
    # the tables that a view reads are found in its text by their backticks.
    text = json.dumps(view_settings(rules, current, pull_mode), indent=2).replace("`", "\\u0060")
    first, *others = text.splitlines()
    return "".join(f"{line}\n" for line in (f"-- settings: {first}", *(f"{_LINE}{line}" for line in others)))


def read_settings_comment(query: str) -> StoredSettings | None:
    """Return the settings at the start of a view's text; None where it has none, as the text of an earlier release.

    Examples:
        >>> read_settings_comment(settings_comment(TableRules(version_column="_v")) + "SELECT 1")
        {'version_column': '_v'}
    """
    if not query.startswith(_START):
        return None
    lines = []
    for line in query.splitlines():
        if not line.startswith(_LINE):
            break
        lines.append(line.removeprefix(_LINE))
    try:
        # A comment may follow, such as the one that lists the versions of a view in two levels.
        found, _ = json.JSONDecoder().raw_decode("\n".join(lines).removeprefix("settings: "))
    except ValueError:  # somebody edited the comment
        return None
    return {str(name): _value(value) for name, value in found.items()} if isinstance(found, dict) else None


def _value(value: Any) -> str | list[str]:
    return [str(one) for one in value] if isinstance(value, list) else str(value)


def setting_changes(
    query: str, rules: TableRules, current: bool = False, pull_mode: str | None = None
) -> tuple[SettingChange, ...]:
    """Return the settings that differ between the text of a view as it is and the rules.

    Args:
        query: the text of the view. Nothing is known of a text without a comment.
        rules: the rules with which the view would be written.
        current: whether it is a current view.
        pull_mode: as for `view_settings`.

    Examples:
        >>> [str(change) for change in setting_changes(settings_comment(TableRules(version_column="_v")), TableRules())]
        ['version_column: _v -> default']
    """
    before, after = read_settings_comment(query), view_settings(rules, current, pull_mode)
    if before is None:
        return ()
    names = [*before, *(name for name in after if name not in before)]
    return tuple(
        SettingChange(name, _shown(before.get(name)), _shown(after.get(name)))
        for name in names
        if before.get(name) != after.get(name)
    )


def change_types(changes: Sequence[SettingChange]) -> bool:
    """Return whether changes of settings may give columns of a view other types.

    Examples:
        >>> change_types([SettingChange("types.id", None, "STRING")]), change_types([SettingChange("retire", None, "abc")])
        (True, False)
    """
    return any(one.name in _OF_TYPES or one.name.startswith("types.") for one in changes)


def _shown(value: str | list[str] | None) -> str | None:
    return ", ".join(value) if isinstance(value, list) else value


def check_settings(view: object, changes: Sequence[SettingChange]) -> None:
    """Check that a view was written with the present settings.

    Args:
        view: the name of the view.
        changes: the settings that differ.

    Raises:
        SettingsChanged: settings differ; the error lists all of them.
    """
    if changes:
        raise SettingsChanged(
            [
                *(f"{view} was written with another setting of {change}" for change in changes),
                f"{view} was not written: name the deployment's onefold.yaml with --config, or accept these settings with "
                "--accept-settings",
            ]
        )
