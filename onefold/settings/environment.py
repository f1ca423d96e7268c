"""All settings: `ONEFOLD_*` environment variables, and the settings of tables in onefold.yaml (`yaml_file`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from onefold.core.errors import InvalidSettings
from onefold.core.log import LOG_FORM
from onefold.core.names import KEY_TABLE, TableId, problems_of_name
from onefold.core.problems import Problem
from onefold.core.versioned_names import DEFAULT_NAMES, VersionedNames
from onefold.schema.column_policy import ColumnPolicies
from onefold.schema.contract_rules import Contracts
from onefold.schema.plain_table import DEFAULT_DATASET, PlainTable
from onefold.schema.table_rules import TableRules
from onefold.settings.batches import BatchSettings, batch_problems, read_batch_settings
from onefold.settings.captures import CaptureSettings
from onefold.settings.config_file import config_path, config_problems
from onefold.settings.events import EventSettings, event_problems, read_event_settings
from onefold.settings.key_variables import with_key_variables
from onefold.settings.owners import NO_OWNERS, Owners
from onefold.settings.places import dataset_problems, datasets_of, folder_problems, topic_problems
from onefold.settings.registry import RegistrySettings, read_registry_settings, registry_problems
from onefold.settings.sources import Mode, Source, TableLoad, full_view, pull_of
from onefold.settings.variables import BIGQUERY_EMULATOR, LAB_PROJECT, unknown_variables
from onefold.settings.view_templates import template_problems, view_name_problems
from onefold.settings.yaml_file import TablesFile, read_tables_file
from onefold.settings.yaml_unite import united_names, united_rules

_LAST_PORT = 65535


@dataclass(frozen=True)
class Settings:
    """All settings. Topics, folders and the project are None where their variable is not set.

    Attributes:
        datasets: the datasets that messages may name; None for all of the project.
        clean_datasets: those of them that have a dataset of clean views; None where nobody has told.
        view_dataset: the template of the dataset of a view.
        view_name: the template of the name of a view.
        plain_dataset: the template of the dataset of the base and the current view of a plain change table.
        changes_dataset: the dataset of the ledger of changes; None where no change is recorded.
        large_records: the folder of captured rows that are too large for a message.
        metrics_port: the port of capture's metrics.
        differences: `log` where a compare job only logs differences.
        rules: the rules of all tables that have none of their own.
        tables: rules by `table` or `dataset.table`; the longer name wins, with what it inherits from the shorter one.
        names: the naming of versioned tables, in all datasets that have none of their own.
        dataset_names: the naming of versioned tables in single datasets.
        pulled_files: the folder of the files of pulled tables.
        pages: the folder of the pages of datasets.
        page_checkpoints: the folders of captures' checkpoints, of which pages say the lag.
        sources: the servers whose tables are pulled, by name.
        keep_view_settings: True where a view must not be written with other settings than those with which it was written.
            No variable sets it: a person's command has it, and a deployment does not.
        policies: the policies of columns, by which clean views are kept; None for no clean views.
        captures: the settings of captured sources, by name.
        contracts: what views do about changes of the source.
        owners: who is notified of changes.
        plain: the plain change tables that a list of their dataset has shown, by `dataset.table`. No variable sets it.
    """

    project: str | None = None
    datasets: frozenset[str] | None = None
    clean_datasets: frozenset[str] | None = None
    view_dataset: str = "{dataset}"
    view_name: str = "{table}_unified"
    plain_dataset: str = DEFAULT_DATASET
    changes_dataset: str | None = None
    topic_table_created: str | None = None
    topic_schema_changes: str | None = None
    topic_change_records: str | None = None
    topic_dead_letter: str | None = None
    large_records: str | None = None
    metrics_port: int | None = None
    differences: str | None = None
    batch: BatchSettings = field(default_factory=BatchSettings)
    registry: RegistrySettings = field(default_factory=RegistrySettings)
    events: EventSettings = field(default_factory=EventSettings)
    rules: TableRules = field(default_factory=TableRules)
    tables: Mapping[str, TableRules] = field(default_factory=dict)
    names: VersionedNames = DEFAULT_NAMES
    dataset_names: Mapping[str, VersionedNames] = field(default_factory=dict)
    pulled_files: str | None = None
    pages: str | None = None
    page_checkpoints: tuple[str, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    keep_view_settings: bool = False
    policies: ColumnPolicies | None = None
    captures: Mapping[str, CaptureSettings] = field(default_factory=dict)
    contracts: Contracts = field(default_factory=Contracts)
    owners: Owners = NO_OWNERS
    plain: Mapping[str, PlainTable] = field(default_factory=dict)

    def rules_for(self, base: TableId) -> TableRules:
        """Return the rules of a table, given the dataset and the base name."""
        rules = self.tables.get(f"{base.dataset}.{base.table}") or self.tables.get(base.table) or self.rules
        plain, names = self.plain_table(base), self.names_in(base.dataset)
        rules = united_rules(rules, names.united.get(base.table))
        contract, dataset = self.contracts.of_table(base), plain.dataset if plain else None
        return replace(rules, names=names, base_dataset=dataset, contract=contract)

    def plain_table(self, base: TableId) -> PlainTable | None:
        """Return what is known of a plain change table; None for any other table."""
        return self.plain.get(f"{base.dataset}.{base.table}")

    def plain_in(self, dataset: str) -> tuple[str, ...]:
        """Return the names of the plain change tables of a dataset that are known."""
        named = (name.partition(".") for name in self.plain)
        return tuple(table for its_dataset, _, table in named if its_dataset == dataset)

    def with_plain(self, dataset: str, tables: Mapping[str, PlainTable]) -> Settings:
        """Return the settings with what is known of plain change tables of a dataset, by their names."""
        return replace(self, plain={**self.plain, **{f"{dataset}.{name}": table for name, table in tables.items()}})

    def names_in(self, dataset: str | None) -> VersionedNames:
        """Return the naming of versioned tables in a dataset."""
        names, declared = self.dataset_names.get(dataset or "", self.names), self._declared
        of_dataset = declared.get(dataset or "", frozenset()) | declared.get("", frozenset())
        return replace(names, declared=of_dataset) if of_dataset else names

    @cached_property
    def _declared(self) -> Mapping[str, frozenset[str]]:
        """The tables whose keys or tool are declared, by dataset; those of any dataset under an empty name."""
        found: dict[str, frozenset[str]] = {}
        for name, rules in self.tables.items():
            if rules.tool or rules.keys:
                dataset, _, table = name.rpartition(".")
                found[dataset] = found.get(dataset, frozenset()) | {table}
        return found

    def with_listed(self, dataset: str, labels: Mapping[str, Mapping[str, str]]) -> Settings:
        """Return the settings with a naming that knows the tables of a dataset by their labels.

        Args:
            dataset: the dataset.
            labels: the labels of all of its tables, by the name of the table.
        """
        return replace(self, dataset_names={**self.dataset_names, dataset: self.names_in(dataset).resolved(labels)})

    def view_of(self, base: TableId) -> TableId:
        """Return the unified view of a base name; the view of a name without a dataset has none either."""
        return self._view(base, self.view_name)

    def pull_of(self, base: TableId) -> TableLoad | None:
        """Return how a table is pulled; None for a table that is not pulled."""
        return pull_of(self.sources.values(), base)

    def pull_mode_of(self, base: TableId) -> Mode | None:
        """Return `incremental` or `full`; None for a table that is not pulled."""
        load = self.pull_of(base)
        return load.mode if load else None

    def current_view_of(self, base: TableId) -> TableId:
        """Return the current view of a base name: where the unified view is; of a pulled table the full view.

        The view of a plain change table is where its base is, unless ONEFOLD_VIEW_DATASET names a dataset of views.
        """
        if self.pull_of(base):
            return full_view(base)
        return self._view(base, self.current_name)

    def _view(self, base: TableId, name: str) -> TableId:
        names, plain = {"dataset": base.dataset or "", "table": base.table}, self.plain_table(base)
        dataset = self.view_dataset.format(**names) if base.dataset else None
        dataset = plain.dataset if plain and dataset == base.dataset else dataset
        return TableId(base.project, dataset, name.format(**names))

    def clean_view_of(self, base: TableId) -> TableId:
        """Return the clean view of a base name."""
        return TableId(base.project, f"{base.dataset}__views_clean", base.table)

    def key_table_of(self, base: TableId) -> TableId:
        """Return the table of the key with which the clean views of the table's dataset hash."""
        return TableId(base.project, f"{base.dataset}__keys", KEY_TABLE)

    @property
    def current_name(self) -> str:
        """The template of the name of a current view: with the dataset where views of several datasets lie in one."""
        is_shared = "{dataset}" in self.view_name and "{dataset}" not in self.view_dataset
        return "{dataset}_{table}_current" if is_shared else "{table}_current"


def load_settings(environ: Mapping[str, str], config: Path | None = None) -> Settings:
    """Read and check all settings.

    Args:
        environ: the environment variables.
        config: the file of the tables' settings; None for the file that ONEFOLD_CONFIG names, else onefold.yaml in the
            working folder, else its checked form there, where there is one.

    Raises:
        InvalidSettings: settings are not valid; the error lists all problems, each with its variable or key.
    """
    settings, path = _from_environment(environ), config or config_path(environ)
    missing = [] if config else list(config_problems(environ))
    problems: list[str | Problem] = [*_variable_problems(environ, settings), *missing]
    file = TablesFile()
    with _collected(problems):
        file = read_tables_file(path) if path and not missing else file
    with _collected(problems):
        file = with_key_variables(file, environ)
    problems += view_name_problems(settings.view_name, [file.names, *file.datasets.values()])
    if problems:
        raise InvalidSettings(problems)
    return replace(
        settings,
        batch=replace(read_batch_settings(environ), config=path is not None),
        registry=read_registry_settings(environ),
        events=read_event_settings(environ),
        rules=file.rules,
        tables=file.tables,
        names=file.names,
        dataset_names={**file.datasets, **united_names(file.unite, settings)},
        sources=file.sources,
        policies=file.policies,
        captures=file.captures,
        contracts=file.contracts,
        owners=file.owners,
    )


@contextmanager
def _collected(problems: list[str | Problem]) -> Iterator[None]:
    """Add the problems of what the block reads to a list."""
    try:
        yield
    except InvalidSettings as error:
        problems += error.problems


def _from_environment(environ: Mapping[str, str]) -> Settings:
    """Return the settings of the variables, which `_variable_problems` checks, without those of modules of their own."""
    port = environ.get("ONEFOLD_METRICS_PORT", "")
    return Settings(
        project=environ.get("ONEFOLD_PROJECT") or environ.get("GOOGLE_CLOUD_PROJECT") or _lab_project(environ),
        datasets=datasets_of(environ, "ONEFOLD_DATASETS"),
        clean_datasets=datasets_of(environ, "ONEFOLD_CLEAN_DATASETS"),
        view_dataset=environ.get("ONEFOLD_VIEW_DATASET") or Settings.view_dataset,
        view_name=environ.get("ONEFOLD_VIEW_NAME") or Settings.view_name,
        plain_dataset=environ.get("ONEFOLD_PLAIN_DATASET") or Settings.plain_dataset,
        changes_dataset=environ.get("ONEFOLD_CHANGES_DATASET") or None,
        topic_table_created=environ.get("ONEFOLD_TOPIC_TABLE_CREATED") or None,
        topic_schema_changes=environ.get("ONEFOLD_TOPIC_SCHEMA_CHANGES") or None,
        topic_change_records=environ.get("ONEFOLD_TOPIC_CHANGE_RECORDS") or None,
        topic_dead_letter=environ.get("ONEFOLD_TOPIC_DEAD_LETTER") or None,
        metrics_port=int(port) if _is_port(port) else None,
        differences=environ.get("ONEFOLD_DIFFERENCES") or None,
        large_records=environ.get("ONEFOLD_LARGE_RECORDS", "").rstrip("/") or None,
        pulled_files=environ.get("ONEFOLD_PULLED_FILES", "").rstrip("/") or None,
        pages=environ.get("ONEFOLD_PAGES", "").rstrip("/") or None,
        page_checkpoints=tuple(
            filter(None, (word.strip() for word in environ.get("ONEFOLD_PAGE_CHECKPOINTS", "").split(",")))
        ),
    )


def _lab_project(environ: Mapping[str, str]) -> str | None:
    """Return the project of the lab, which is there without a name, where a variable leads to its embedded BigQuery."""
    return LAB_PROJECT if environ.get(BIGQUERY_EMULATOR) else None


def _variable_problems(environ: Mapping[str, str], settings: Settings) -> Iterator[Problem]:
    """Yield the problems of all variables.

    Args:
        environ: the environment variables.
        settings: what `_from_environment` returns for them.
    """
    yield from unknown_variables(environ)
    yield from dataset_problems(environ, settings)
    yield from batch_problems(environ)
    yield from registry_problems(environ)
    yield from event_problems(environ)
    port = environ.get("ONEFOLD_METRICS_PORT", "")
    if port and not _is_port(port):
        yield Problem(f"ONEFOLD_METRICS_PORT {port!r}: expected a port from 1 to {_LAST_PORT}, or no value")
    if settings.differences not in (None, "log"):
        yield Problem(f"ONEFOLD_DIFFERENCES {settings.differences!r}: expected log, or no value")
    if environ.get(LOG_FORM, "json") not in ("json", "text", ""):
        yield Problem(f"{LOG_FORM} {environ[LOG_FORM]!r}: expected json or text, or no value")
    if settings.project:
        variable = "ONEFOLD_PROJECT" if environ.get("ONEFOLD_PROJECT") else "GOOGLE_CLOUD_PROJECT"
        yield from (Problem(text, file=variable) for text in problems_of_name("project", settings.project))
    yield from template_problems(settings)
    yield from topic_problems(settings)
    yield from folder_problems(settings)


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= _LAST_PORT
