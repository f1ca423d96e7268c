"""The stack on one machine: the settings of its functions, and queries of people."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bigquery_emulator import EmulatedDataset

from onefold.adapters.connect import connect
from onefold.core.errors import InvalidSettings, NotFound
from onefold.core.names import TableId
from onefold.schema.columns import Column
from onefold.schema.types import Scalar
from onefold.settings.environment import load_settings
from onefold.sink.handler import check_sink_settings
from onefold_lab.stack import FUNCTIONS, SHOWN, create_datasets, function_settings
from onefold_lab.stand_ins.warehouse import DEFAULT_PROJECT


def test_the_functions_have_every_setting_that_they_need(tmp_path: Path) -> None:
    settings = load_settings(function_settings({}, tmp_path))
    check_sink_settings(settings)
    settings.batch.check_complete()
    assert (settings.topic_table_created, settings.project) == ("table-created", "local")
    assert {settings.topic_schema_changes, settings.topic_dead_letter} == set(SHOWN)
    assert settings.topic_table_created in FUNCTIONS


def test_the_functions_have_the_settings_of_the_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "onefold.yaml").write_text("tables: {customer: {keys: [id]}}\n")
    own = {"HOME": "/root", "ONEFOLD_SOURCE_PASSWORD": "secret"}
    given = {"ONEFOLD_VIEW_NAME": "{table}_all", "ONEFOLD_PROJECT": "real-project", **own}
    settings = function_settings(given, tmp_path)
    assert settings["ONEFOLD_VIEW_NAME"] == "{table}_all"
    assert settings["ONEFOLD_PROJECT"] == "local"
    assert settings["ONEFOLD_CONFIG"] == str(tmp_path / "onefold.yaml")
    assert not own.keys() & settings.keys()


def test_wrong_settings_are_an_error_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="ONEFOLD_VIEW"):
        function_settings({"ONEFOLD_VIEW_NAME": "{x}"}, tmp_path)


def test_tables_of_a_missing_dataset_are_an_error_with_the_command_that_creates_it(dataset: EmulatedDataset) -> None:
    assert dataset.host
    warehouse, table = connect(DEFAULT_PROJECT), TableId(DEFAULT_PROJECT, "nowhere", "customer")
    for call in (
        lambda: warehouse.list_tables("nowhere"),
        lambda: warehouse.list_views("nowhere"),
        lambda: warehouse.list_dataset("nowhere"),
        lambda: warehouse.read_versions(table),
        lambda: warehouse.create_table(table, [Column("id", Scalar("INT64"))]),
    ):
        with pytest.raises(NotFound, match=r"nowhere does not exist at .*; run: onefold local query --allow-write"):
            call()


def test_datasets_are_created_at_the_host_that_is_named(dataset: EmulatedDataset) -> None:
    create_datasets(dataset.host, [f"{dataset.name}_more"])
    assert f"{dataset.name}_more" in [one.dataset_id for one in dataset.client.list_datasets()]
