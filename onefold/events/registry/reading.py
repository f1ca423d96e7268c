"""One registry of a list, read for a run: its store is asked again where it fails, and given up once it is down."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path

from onefold.core.errors import TryAgain
from onefold.core.retry import Backoff
from onefold.events.registry.adopted import AdoptedTables, read_adopted
from onefold.events.registry.folder import read_folder
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import is_server
from onefold.events.registry.schema_key import SchemaKey
from onefold.events.registry.sources import ServerSource, StaticSource, open_source, read_all
from onefold.ports.objects import ObjectFinder, StoredObject

_TRIES = 3
_BACKOFF = Backoff(first=1.0, longest=10.0)


class PatientObjects:
    """Objects that are asked for up to three times. A store that does not answer then is not asked again in this run."""

    def __init__(self, objects: ObjectFinder, sleep: Callable[[float], None] = time.sleep) -> None:
        self._objects = objects
        self._sleep = sleep
        self._down: TryAgain | None = None

    def find(self, address: str) -> StoredObject | None:
        """Return an object; see `ObjectFinder.find`.

        Raises:
            TryAgain: the store does not answer, or has not answered before.
        """
        for pause in islice(_BACKOFF.pauses(), _TRIES - 1):
            if self._down:
                raise TryAgain(str(self._down))
            try:
                return self._objects.find(address)
            except TryAgain:
                self._sleep(pause)
        try:
            return self._objects.find(address)
        except TryAgain as error:
            self._down = error
            raise


class RegistryAt:
    """The registry at an address, to read for a run; see `RegistryReader`."""

    def __init__(self, address: str, objects: ObjectFinder) -> None:
        self._address = address
        self._objects = objects

    def read_whole(self) -> Registry | None:
        """Return all schemas; None where the registry cannot be listed.

        Raises:
            NotFound: there is no such folder.
            OnefoldError: the registry does not answer, or refuses.
        """
        source = open_source(self._address, self._objects)
        if isinstance(source, ServerSource):  # it has no settings to read
            found = read_all(source, self._address)
            # One that lists nothing may know no list of all schemas: it is asked for each.
            return found if found.models or found.unusable else None
        if not isinstance(source, StaticSource):
            return self._with_settings(read_all(source, self._address))
        return None if "://" in self._address else self._with_settings(read_folder(Path(self._address)))

    def read_models(self, keys: Collection[SchemaKey]) -> Registry:
        """Return all versions of the models of some schemas, of a server or of static files that have no list.

        Raises:
            OnefoldError: the registry does not answer, or refuses.
        """
        return StaticSource(self._address, self._objects).read_models(keys)

    def read_adopted(self) -> AdoptedTables:
        """Return the adopted tables that the settings name; none of a server, which has no settings.

        Raises:
            InvalidInput: the setting is not valid.
            OnefoldError: the registry does not answer, or refuses.
        """
        return {} if is_server(self._address) else read_adopted(self._address, self._objects)

    def _with_settings(self, registry: Registry) -> Registry:
        return replace(registry, adopted=self.read_adopted())
