"""The checked form of onefold.yaml is read as strictly as the file itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from onefold.core.errors import InvalidSettings
from onefold.settings.environment import load_settings

FORM = "onefold.checked.json"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "cannot be read"),
        ("{", "cannot be read"),
        ("{}", "expected yaml_sha256 and settings, as `onefold settings check --write` writes them"),
        ('{"captures": {}}', "expected yaml_sha256 and settings"),
        ('{"yaml_sha256": "1", "settings": null}', "expected yaml_sha256 and settings"),
        ('{"yaml_sha256": "1", "settings": {"table": {}}}', "not the settings that this release of Onefold has checked"),
    ],
    ids=range(6),
)
def test_a_checked_form_that_cannot_be_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FORM).write_text(text)
    for environ in ({}, {"ONEFOLD_CONFIG": str(tmp_path / FORM)}):
        with pytest.raises(InvalidSettings) as raised:
            load_settings(environ)
        assert [one for one in raised.value.problems if FORM in one and problem in one] == list(raised.value.problems)


def test_a_command_reads_the_file_and_not_the_checked_form_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("onefold.yaml").write_text("time_zone: Europe/Berlin")
    Path(FORM).write_text('{"yaml_sha256": "1", "settings": {"time_zone": "Asia/Tokyo"}}')
    assert load_settings({}).rules.time_zone == "Europe/Berlin"
