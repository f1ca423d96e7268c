"""Settings: `ONEFOLD_*` environment variables, and onefold.yaml for what belongs to tables. All faults at once."""

from __future__ import annotations

import hashlib
import re
import string
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from onefold.conversions import UTC
from onefold.errors import InvalidSettings, InvalidType
from onefold.names import TableId, faults_of_name, fold_case, split_versioned_name
from onefold.rules import Rules
from onefold.types import Type, parse_type
from onefold.view import RENDERER

CONFIG = "ONEFOLD_CONFIG"
DEFAULT_CONFIG = "onefold.yaml"

VARIABLES = {
    "ONEFOLD_PROJECT": "the project of datasets and topics; default: GOOGLE_CLOUD_PROJECT",
    "ONEFOLD_DATASETS": "the datasets that messages may name, separated by commas; default: all of the project",
    "ONEFOLD_VIEW_DATASET": "where views live; default: {dataset}",
    "ONEFOLD_VIEW_NAME": "what a view is called; default: {table}_unified",
    "ONEFOLD_TOPIC_TABLE_CREATED": "the topic that says a versioned table is new; a check of a whole dataset fans out on it",
    "ONEFOLD_TOPIC_SCHEMA_CHANGES": "the topic for changes of a view's schema; default: none",
    "ONEFOLD_TOPIC_DEAD_LETTER": "the topic for messages that cannot be handled; default: none, they are logged",
    CONFIG: f"the file of the tables' settings; default: {DEFAULT_CONFIG} in the working folder, where there is one",
}

_TABLE_KEYS = frozenset({"conversions", "time_zone", "version_column", "types", "retire"})
_DEFAULT_KEYS = frozenset({"conversions", "time_zone", "version_column", "tables"})
_COLUMN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,299}")
_RESERVED_PREFIXES = ("_TABLE_", "_FILE_", "_PARTITION", "_ROW_TIMESTAMP", "__ROOT__", "_COLIDENTIFIER", "_CHANGE_")
_ZONE = re.compile(r"[A-Za-z_]+(/[A-Za-z0-9_+-]+){0,2}|[+-](0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00")
_TOPIC = re.compile(r"(projects/[a-z0-9.:-]+/topics/)?(?!goog)[A-Za-z][A-Za-z0-9_.~+%-]{2,254}")
_FIELDS = ("dataset", "table")


@dataclass(frozen=True)
class Settings:
    project: str | None = None
    datasets: frozenset[str] = frozenset()
    view_dataset: str = "{dataset}"
    view_name: str = "{table}_unified"
    topic_table_created: str | None = None
    topic_schema_changes: str | None = None
    topic_dead_letter: str | None = None
    rules: Rules = field(default_factory=Rules)
    tables: Mapping[str, Rules] = field(default_factory=dict)
    """Rules by `table` or `dataset.table`; the longer name wins."""

    def rules_for(self, base: TableId) -> Rules:
        return self.tables.get(f"{base.dataset}.{base.table}") or self.tables.get(base.table) or self.rules

    def view_of(self, base: TableId) -> TableId:
        """The unified view of a base name; a name without a dataset stays without."""
        names = {"dataset": base.dataset or "", "table": base.table}
        dataset = self.view_dataset.format(**names) if base.dataset else None
        return TableId(base.project, dataset, self.view_name.format(**names))

    def fingerprint(self, base: TableId) -> str:
        """A digest of all that decides a view's text besides its versions; a label of the view holds it."""
        rules = self.rules_for(base)
        parts = (
            RENDERER,
            base,
            rules.conversions,
            rules.time_zone,
            rules.version_column,
            rules.types,
            sorted(rules.retired),
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def load_settings(environ: Mapping[str, str], config: Path | None = None) -> Settings:
    """Read and check everything.

    Raises:
        InvalidSettings: every fault, each with the variable or the key it is about.
    """
    faults: list[str] = []
    settings = _from_environment(environ, faults)
    path = config or _config_path(environ, faults)
    if path:
        settings = _with_tables(settings, path, faults)
    if faults:
        raise InvalidSettings(faults)
    return settings


def _from_environment(environ: Mapping[str, str], faults: list[str]) -> Settings:
    faults += [
        f"{name} is not a setting; known are {', '.join(VARIABLES)}"
        for name in sorted(environ)
        if name.startswith("ONEFOLD_") and name not in VARIABLES
    ]
    datasets = frozenset(name.strip() for name in environ.get("ONEFOLD_DATASETS", "").split(",") if name.strip())
    settings = Settings(
        project=environ.get("ONEFOLD_PROJECT") or environ.get("GOOGLE_CLOUD_PROJECT") or None,
        datasets=datasets,
        view_dataset=environ.get("ONEFOLD_VIEW_DATASET") or Settings.view_dataset,
        view_name=environ.get("ONEFOLD_VIEW_NAME") or Settings.view_name,
        topic_table_created=environ.get("ONEFOLD_TOPIC_TABLE_CREATED") or None,
        topic_schema_changes=environ.get("ONEFOLD_TOPIC_SCHEMA_CHANGES") or None,
        topic_dead_letter=environ.get("ONEFOLD_TOPIC_DEAD_LETTER") or None,
    )
    faults += [f"ONEFOLD_DATASETS: {fault}" for name in sorted(datasets) for fault in faults_of_name("dataset", name)]
    if environ.get("ONEFOLD_DATASETS") and not datasets:
        faults.append("ONEFOLD_DATASETS names no dataset; unset it to allow all of the project")
    if settings.project:
        variable = "ONEFOLD_PROJECT" if environ.get("ONEFOLD_PROJECT") else "GOOGLE_CLOUD_PROJECT"
        faults += [f"{variable}: {fault}" for fault in faults_of_name("project", settings.project)]
    faults += [*_template_faults(settings), *_topic_faults(settings)]
    return settings


def _template_faults(settings: Settings) -> Iterator[str]:
    templates = (
        ("ONEFOLD_VIEW_DATASET", settings.view_dataset, "dataset"),
        ("ONEFOLD_VIEW_NAME", settings.view_name, "table"),
    )
    wrong = [(variable, template) for variable, template, _ in templates if not _is_template(template)]
    for variable, template in wrong:
        yield f"{variable} {template!r}: a template may hold {{dataset}} and {{table}} and nothing else in braces"
    if wrong:
        return
    for variable, template, kind in templates:
        name = template.format(dataset="dataset", table="table")
        yield from (f"{variable}: {fault}" for fault in faults_of_name(kind, name))
        if kind == "table" and split_versioned_name(name):
            yield f"{variable} {template!r}: a view must not be named like a versioned table"
    yield from _shared_view_faults(settings)


def _shared_view_faults(settings: Settings) -> Iterator[str]:
    if "{table}" not in settings.view_name:
        yield f"ONEFOLD_VIEW_NAME {settings.view_name!r} must hold {{table}}, or all tables would share one view"
    if settings.view_name == "{table}":
        yield "ONEFOLD_VIEW_NAME must not be the table's own name; add a suffix, as in {table}_unified"
    if len(settings.datasets) != 1 and "{dataset}" not in settings.view_dataset + settings.view_name:
        yield "ONEFOLD_VIEW_DATASET or ONEFOLD_VIEW_NAME must hold {dataset}, or tables of two datasets would share one view"


def _is_template(text: str) -> bool:
    """Whether the fields are those that are known, and plain: a format such as {table:.3} would make two names one."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError:
        return False
    return all(field is None or (field in _FIELDS and not format_ and not how) for _, field, format_, how in parts)


def _topic_faults(settings: Settings) -> Iterator[str]:
    for purpose in ("table_created", "schema_changes", "dead_letter"):
        topic = getattr(settings, f"topic_{purpose}")
        if topic and not _TOPIC.fullmatch(topic):
            yield f"ONEFOLD_TOPIC_{purpose.upper()} {topic!r} is no topic; write its name, or projects/PROJECT/topics/NAME"


def _config_path(environ: Mapping[str, str], faults: list[str]) -> Path | None:
    named = environ.get(CONFIG)
    if named and not Path(named).is_file():
        faults.append(f"{CONFIG}: there is no file {named}")
        return None
    if named:
        return Path(named)
    return Path(DEFAULT_CONFIG) if Path(DEFAULT_CONFIG).is_file() else None


def _with_tables(settings: Settings, path: Path, faults: list[str]) -> Settings:
    try:
        content = _given(yaml.load(path.read_text(encoding="utf-8"), _Loader), {})  # noqa: S506 a SafeLoader
    except (OSError, UnicodeDecodeError, RecursionError, yaml.YAMLError) as error:
        faults.append(f"{path}: cannot be read: {error}")
        return settings
    reader = _ConfigReader(str(path), faults)
    if not reader.is_mapping(content, "the file"):
        return settings
    defaults = reader.rules(content, Rules(), "", _DEFAULT_KEYS)
    tables = _given(content.get("tables"), {})
    if not reader.is_mapping(tables, "tables"):
        return settings
    rules = {name: reader.table(name, body, defaults) for name, body in tables.items() if reader.is_text(name, "tables: ")}
    return replace(settings, rules=defaults, tables=rules)


def _given(value: Any, default: Any) -> Any:
    """A key with nothing after it is None to YAML; what is false or empty in another way was written so."""
    return default if value is None else value


class _Loader(yaml.SafeLoader):
    """Refuses what YAML passes over: a key that is given twice, of which only the last would count."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if key.value in seen and isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else None)
        return super().construct_mapping(node, deep)


class _ConfigReader:
    """Turns the parsed YAML into Rules and collects faults, each with its place in the file."""

    def __init__(self, path: str, faults: list[str]) -> None:
        self._path = path
        self._faults = faults

    def is_mapping(self, value: object, where: str) -> bool:
        if not isinstance(value, dict):
            self._fault(f"{where} must be a mapping")
        return isinstance(value, dict)

    def is_text(self, value: object, where: str) -> bool:
        # YAML reads a hash of digits as a number, 0123 as 83, and `no`, `on` and `yes` as true or false.
        if not isinstance(value, str):
            self._fault(f"{where}{value!r} is not a text; put it in quotes")
        return isinstance(value, str)

    def table(self, name: str, body: Any, defaults: Rules) -> Rules:
        dataset, _, table = name.rpartition(".")
        for fault in [*(faults_of_name("dataset", dataset) if dataset else []), *faults_of_name("table", table)]:
            self._fault(f"tables: {fault}")
        body = _given(body, {})
        if not self.is_mapping(body, f"tables.{name}"):
            return defaults
        return self.rules(body, defaults, f"tables.{name}.", _TABLE_KEYS)

    def rules(self, body: dict[str, Any], defaults: Rules, where: str, known: frozenset[str]) -> Rules:
        for key in body:
            if key not in known:
                self._fault(f"{where}{key} is not a setting{_advice(key, where)}; known are {', '.join(sorted(known))}")
        # What is inherited was checked where it was written.
        return Rules(
            conversions=self._conversions(body["conversions"], where) if "conversions" in body else defaults.conversions,
            time_zone=self._time_zone(body["time_zone"], where) if "time_zone" in body else defaults.time_zone,
            version_column=(
                self._version_column(body["version_column"], where) if "version_column" in body else defaults.version_column
            ),
            types=tuple(self._types(_given(body.get("types"), {}), where)) if "types" in known else (),
            retired=frozenset(self._retired(_given(body.get("retire"), []), where)) if "retire" in known else frozenset(),
        )

    def _conversions(self, value: Any, where: str) -> Any:
        if value not in ("lossless", "classic"):
            self._fault(f"{where}conversions must be lossless or classic, not {value!r}")
        return value

    def _time_zone(self, value: Any, where: str) -> str:
        if not isinstance(value, str) or not _ZONE.fullmatch(value) or not _zone_exists(value):
            self._fault(
                f"{where}time_zone {value!r} is unknown; write a tz database name, as Europe/Berlin, or '+01:00' in quotes"
            )
        return str(value)

    def _version_column(self, value: Any, where: str) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str) or not _COLUMN_NAME.fullmatch(value):
            self._fault(f"{where}version_column {value!r} is no column name; use letters, digits and underscores")
        elif value.upper().startswith(_RESERVED_PREFIXES):
            self._fault(f"{where}version_column {value!r} starts with a prefix that BigQuery reserves")
        return str(value)

    def _types(self, value: Any, where: str) -> Iterator[tuple[str, Type]]:
        if not self.is_mapping(value, f"{where}types"):
            return
        seen = set()
        for column, text in value.items():
            if not self.is_text(column, f"{where}types: ") or not self.is_text(text, f"{where}types.{column}: "):
                continue
            if fold_case(column) in seen:
                self._fault(f"{where}types.{column}: the column is given twice; case makes no difference")
            seen.add(fold_case(column))
            try:
                yield fold_case(column), parse_type(text)
            except InvalidType as error:
                self._fault(f"{where}types.{column}: {error}")

    def _retired(self, value: Any, where: str) -> Iterator[str]:
        if not isinstance(value, list):
            self._fault(f"{where}retire must be a list of versions")
            return
        for version in value:
            if not self.is_text(version, f"{where}retire: the version "):
                continue
            for fault in faults_of_name("version", version):
                self._fault(f"{where}retire: {fault}")
            yield version

    def _fault(self, what: str) -> None:
        self._faults.append(f"{self._path}: {what}")


def _advice(key: object, where: str) -> str:
    return ", unless below tables.NAME" if not where and key in _TABLE_KEYS else ""


def _zone_exists(name: str) -> bool:
    """Where the machine has no tz database at all, BigQuery is the one to tell."""
    if name == UTC or name[0] in "+-":
        return True
    known = zoneinfo.available_timezones()
    return not known or name in known
