"""`onefold init`: the first files, from three answers, which the checks of settings and Terraform accept."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
import yaml
from support.cli import Run

from onefold.settings.environment import load_settings
from onefold.settings.first_files import ORIGINS, SETTINGS_FILE, VARIABLES_FILE, Answers, settings_text, variables_text

OPTIONS = ("--project", "my-project", "--region", "europe-west1", "--rows-from", "capture", "--dataset", "shop")
COMBINATIONS = [some for count in range(1, len(ORIGINS) + 1) for some in itertools.combinations(ORIGINS, count)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the command, in an environment without settings."""
    for name in ("ONEFOLD_PROJECT", "GOOGLE_CLOUD_PROJECT", "ONEFOLD_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_two_files_are_written_and_the_next_steps_are_told(run: Run, folder: Path) -> None:
    done = run("init", *OPTIONS)
    assert done.code == 0, done.err
    assert sorted(path.name for path in folder.iterdir()) == sorted([SETTINGS_FILE, VARIABLES_FILE])
    assert "make plan PROJECT=my-project REGION=europe-west1 VARS=onefold.tfvars" in done.out
    assert 'datasets = ["shop"]' in (folder / VARIABLES_FILE).read_text()
    assert run("init", *OPTIONS, "--yes", "--json").result["files"] == [SETTINGS_FILE, VARIABLES_FILE]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("origins", COMBINATIONS, ids="-".join)
def test_the_settings_are_valid_for_rows_of_any_origin(run: Run, origins: tuple[str, ...]) -> None:
    rows = [word for origin in origins for word in ("--rows-from", origin)]
    assert run("init", *OPTIONS[:4], *rows, "--dataset", "shop", "--dataset", "ads").code == 0
    assert run("settings", "check").code == 2, "the checked form is not written yet"
    assert run("settings", "check", "--write").code == 0
    assert run("settings", "check").code == 0


def test_the_blocks_of_comments_are_valid_settings_as_well(folder: Path) -> None:
    text = settings_text(Answers("my-project", "europe-west1", ORIGINS, ("shop", "ads")))
    filled_in = re.sub(r"^# (?=(?: |captures:|sources:|tables:))", "", text, flags=re.MULTILINE)
    assert {"captures", "sources", "tables", "datasets"} <= yaml.safe_load(filled_in).keys()
    (folder / "filled.yaml").write_text(filled_in)
    settings = load_settings({}, folder / "filled.yaml")
    assert settings.sources["shop"].databases == ("orders",)
    assert settings.names_in("ads").by_labels


@pytest.mark.parametrize("present", [SETTINGS_FILE, VARIABLES_FILE])
def test_nothing_is_overwritten_without_yes(run: Run, folder: Path, present: str) -> None:
    (folder / present).write_text("# mine\n")
    refused = run("init", *OPTIONS)
    assert (refused.code, f"{present} exists: nothing was written. Add --yes" in refused.err) == (1, True)
    assert [path.name for path in folder.iterdir()] == [present]
    assert (folder / present).read_text() == "# mine\n"
    assert run("init", *OPTIONS, "--yes").code == 0
    assert (folder / present).read_text() != "# mine\n"


@pytest.mark.parametrize("before", [True, False])
def test_another_file_of_settings_is_written_where_it_is_named(run: Run, folder: Path, before: bool) -> None:
    named = ("--config", "new.yaml")
    done = run(*named, "init", *OPTIONS) if before else run("init", *OPTIONS, *named)
    assert (done.code, "wrote new.yaml and onefold.tfvars" in done.out) == (0, True), done.err
    assert not (folder / SETTINGS_FILE).exists()
    assert run("settings", "check", "--write", *named).code == 0


@pytest.mark.usefixtures("folder")
def test_without_a_terminal_all_that_is_missing_or_wrong_is_told_at_once(run: Run) -> None:
    error = run("init", "--dataset", "a-b").err
    assert "missing: --project, --region, --rows-from: without" in error
    assert "dataset 'a-b'" in error


@pytest.mark.usefixtures("folder")
def test_a_location_is_no_region_and_events_need_a_dataset_of_their_own(run: Run) -> None:
    assert "--region EU: expected a region such as europe-west1" in run("init", *OPTIONS, "--region", "EU").err
    refused = run("init", *OPTIONS, "--rows-from", "events")
    assert (refused.code, "events need a dataset of their own" in refused.err) == (1, True)
    assert run("init", *OPTIONS, "--rows-from", "events", "--dataset", "ads").code == 0


def test_on_a_terminal_it_asks_for_what_is_missing(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onefold.cli.init.is_terminal", lambda: True)
    done = run("init", stdin="my-project\n\npull, events\nshop, ads\n")
    assert done.code == 0, done.err
    assert [question in done.err for question in ("1. Project", "2. Where rows come from", "3. Datasets")] == [True] * 3
    assert 'datasets = ["shop", "ads"]' in (folder / VARIABLES_FILE).read_text()
    (folder / SETTINGS_FILE).write_text("# mine\n")
    assert run("init", *OPTIONS, stdin="n\n").code == 1
    assert (folder / SETTINGS_FILE).read_text() == "# mine\n"
    assert run("init", *OPTIONS, stdin="y\n").code == 0


def test_the_variables_name_what_belongs_to_the_origins() -> None:
    found = {
        origin: re.findall(r"^#? ?(\w+) = ", variables_text(Answers("my-project", "r", (origin,), ("shop",))), re.MULTILINE)
        for origin in ORIGINS
    }
    assert found == {
        "capture": ["datasets", "captures"], "pull": ["datasets", "pulls"], "tables": ["datasets"],
        "events": ["datasets", "schema_registry", "events"],
    }  # fmt: skip
