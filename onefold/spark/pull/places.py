"""Where rows come from and where files go, by the settings. Neither Spark nor BigQuery is needed to know that."""

from __future__ import annotations

from onefold.adapters.pulled_files import files_at
from onefold.core.errors import InvalidInput, InvalidSettings
from onefold.core.text import shown_list
from onefold.pull.read.part import FileDestination
from onefold.settings.environment import Settings
from onefold.settings.sources import Source
from onefold.settings.unknown_keys import near_name


def source_of(settings: Settings, cluster: str, database: str) -> Source:
    """Return the source of a database.

    Args:
        settings: those of the installation.
        cluster: the name of the source.
        database: one of its databases.

    Raises:
        InvalidInput: there is no such source or database.
    """
    source = settings.sources.get(cluster)
    if source is None:
        known, near = shown_list(settings.sources) or "none", near_name(cluster, settings.sources)
        raise InvalidInput(f"--source: expected a source of onefold.yaml, got {cluster}{near}; it has {known}")
    if database not in source.databases:
        known, near = shown_list(source.databases) or "none", near_name(database, source.databases)
        raise InvalidInput(f"--database: sources.{source.cluster} has the databases {known}, not {database}{near}")
    return source


def destination_of(settings: Settings) -> FileDestination:
    """Return the folder of the files.

    Raises:
        InvalidSettings: none is set.
    """
    if settings.pulled_files is None:
        raise InvalidSettings(["ONEFOLD_PULLED_FILES is not set: name the bucket of pulled files, gs://BUCKET"])
    return FileDestination(files_at(settings.pulled_files), settings.pulled_files)
