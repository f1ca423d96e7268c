"""The checked form of onefold.yaml: what was checked is read without another check, and anything else is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from support.settings_form import write_settings

from onefold.core.errors import InvalidSettings
from onefold.settings.checked_form import SCHEMA, form_problem
from onefold.settings.environment import load_settings
from onefold.settings.schema_check import load_schema

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


def written(folder: Path, text: str) -> Path:
    """Write onefold.yaml and its checked form, and return the path of the form."""
    write_settings(folder, text)
    return folder / FORM


@pytest.mark.parametrize(("found", "edited"), [("password", "pin"), ("checked_sha256", "checked_sha")])
def test_a_checked_form_that_somebody_has_edited_is_refused(tmp_path: Path, found: str, edited: str) -> None:
    form = written(tmp_path, "captures: {shop: {tables: {customer: {drop: [password]}}}}")
    load_settings({}, form)
    form.write_text(form.read_text().replace(found, edited))
    with pytest.raises(InvalidSettings, match=r"not the settings that .* checked: run `make package`, or `onefold settings"):
        load_settings({}, form)
    assert "run `make package`" in (form_problem(tmp_path / "onefold.yaml") or "")


@pytest.mark.parametrize(("found", "changed", "is_refused"), [("types", "kinds", True), ("The rules of", "Rules of", False)])
def test_a_checked_form_is_refused_after_another_schema_and_not_after_other_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, changed: str, is_refused: bool
) -> None:
    form = written(tmp_path, "time_zone: Europe/Berlin")
    schema = json.dumps(load_schema(SCHEMA)).replace(found, changed)
    assert schema != json.dumps(load_schema(SCHEMA))
    monkeypatch.setattr("pkgutil.get_data", lambda *_: schema.encode())
    with pytest.raises(InvalidSettings) if is_refused else nullcontext():
        assert load_settings({}, form).rules.time_zone == "Europe/Berlin"


def test_a_checked_form_is_read_without_a_validator_and_without_a_reader_of_yaml(tmp_path: Path) -> None:
    form = written(tmp_path, "tables: {customer: {keys: [id]}}")
    code = (
        "import sys; sys.modules.update(yaml=None, jsonschema_rs=None)\n"
        "from onefold.settings.environment import load_settings\n"
        f"print(load_settings({{'ONEFOLD_CONFIG': {str(form)!r}}}).tables['customer'].keys)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "('id',)\n", done.stderr
