"""The set of schemas of a run: an ordered list of registries is asked once, at the start, and all tasks use what was found.

Rules of the copies, which `docs/reference/schema-registry.md` gives to users:

- A registry is asked in each run, unless its copy is younger than the list allows (`cacheTtl`).
- That a registry does not have a schema is never taken from a copy while the registry answers.
- Versions keep the order that a run has used; what any registry publishes later comes at the end.
- A registry that does not answer is replaced by its copy. What the copy does not have, a later registry may give. What none
  has, or the copy was never asked for, stops the run: it is not known to be missing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from onefold.core.errors import InvalidInput, TryAgain
from onefold.core.text import shown_list
from onefold.events.registry.adopted import AdoptedTables
from onefold.events.registry.copies import Copies, RegistryCopy
from onefold.events.registry.json_schema import JsonSchema
from onefold.events.registry.kept_orders import Orders, kept_order
from onefold.events.registry.references import foreign_references, referred_key
from onefold.events.registry.registry import Registry
from onefold.events.registry.resolver import ListedRegistry, RegistryList
from onefold.events.registry.schema_key import ModelKey, SchemaKey

Wanted = Callable[[], frozenset[SchemaKey]]
"""Returns the schemas that the input names. It reads the input, so it is called at most once, and only where it matters."""


class RegistryReader(Protocol):
    """A registry to read. Every method raises TryAgain where the registry does not answer."""

    def read_whole(self) -> Registry | None:
        """Return all schemas; None where the registry cannot be listed."""

    def read_models(self, keys: Collection[SchemaKey]) -> Registry:
        """Return all versions of the models of some schemas, of a registry that cannot be listed."""

    def read_adopted(self) -> AdoptedTables:
        """Return the adopted tables of a registry that cannot be listed."""


def freeze(
    registries: RegistryList,
    open_: Callable[[ListedRegistry], RegistryReader],
    wanted: Wanted,
    copies: Copies,
    now: datetime,
) -> Registry:
    """Return the schemas of a list of registries: all of those that can be listed, and what is wanted of the others.

    Args:
        registries: the list.
        open_: opens a registry, without asking it.
        wanted: the schemas that the input names.
        copies: the copies of earlier runs, which are renewed.
        now: the time, with its zone.

    Raises:
        InvalidInput: there is no such folder, or all registries can be listed and have no schema.
        TryAgain: a registry does not answer, and its copy does not say what is wanted; the error names it.
        OnefoldError: a registry refuses, or is not valid.
    """
    fresh_from = now - timedelta(seconds=registries.fresh_seconds)
    answers = {one: _Answers(one, open_(one), copies, fresh_from, now) for one in registries.registries}
    for answer in answers.values():
        answer.list()
    if not all(answer.is_certain for answer in answers.values()):
        _resolve(registries, answers, wanted())
        for answer in answers.values():
            answer.read_adopted()
    before = copies.find_orders()
    registry, orders = _merged(registries, answers, before)
    if orders != before:
        copies.save_orders(orders)
    if not registry.models and not registry.unusable and all(answer.is_certain for answer in answers.values()):
        raise InvalidInput(f"{registry.place}: expected a registry, got no schema: add one with `onefold schema add`")
    return registry


class _Answers:
    """What one registry answers in a run."""

    def __init__(
        self, listed: ListedRegistry, reader: RegistryReader, copies: Copies, fresh_from: datetime, now: datetime
    ) -> None:
        self._reader = reader
        self._copies = copies
        self._fresh_from = fresh_from
        self._now = now
        self.listed = listed
        self.copy = copies.find(str(listed)) or RegistryCopy(str(listed))
        self.stale = ""
        """Why the registry does not answer; empty where it does."""
        self.is_certain = False
        """Whether the registry was read as a whole in this run."""
        self._is_asked = False
        self._models: set[ModelKey] = set()

    @property
    def models(self) -> Mapping[ModelKey, tuple[JsonSchema, ...]]:
        """The schemas of this run: all of a registry that was listed, of another one the models that were asked for."""
        if self.copy.listed_at:
            return self.copy.models
        return {model: schemas for model, schemas in self.copy.models.items() if model in self._models}

    def list(self) -> None:
        """Read the whole registry, where it can be listed and its copy is not fresh."""
        times = [self.copy.listed_at, *self.copy.asked_at.values()]
        if not any(self._is_fresh(time) for time in times):
            self._list()

    def ask(self, keys: Collection[SchemaKey]) -> None:
        """Ask for schemas, unless the answer is known.

        Raises:
            TryAgain: the registry does not answer, and the copy does not say whether it has them.
        """
        due = [key for key in keys if not (self._is_fresh(self.copy.time_of(key.model_key)) and self.copy.has(key))]
        if due and not self.stale and not self.is_certain:
            if self.copy.listed_at:
                self._list()
            else:
                self._ask(due)
        self._models |= {key.model_key for key in keys}
        unknown = [key for key in keys if self.copy.time_of(key.model_key) is None]
        if unknown:
            raise TryAgain(_stopped(self, unknown))

    def read_adopted(self) -> None:
        """Read the adopted tables of a registry that cannot be listed, also where no schema of it is wanted."""
        if self._is_asked and not self.is_certain and not self.stale:
            try:
                adopted = self._reader.read_adopted()
            except TryAgain as error:
                self.stale = str(error)
                return
            if adopted != self.copy.adopted:
                self._keep(replace(self.copy, adopted=adopted))

    def _is_fresh(self, time: datetime | None) -> bool:
        return time is not None and time >= self._fresh_from

    def _list(self) -> None:
        try:
            found = self._reader.read_whole()
        except TryAgain as error:
            self.stale = str(error)
            return
        if found is not None:
            self.is_certain = True
            copy = self.copy.listed(found, self._now)
            if found.unreadable:  # what could not be read is not known: the next run asks for all again
                self.copy = copy
            else:
                self._keep(copy)
            return
        self._is_asked = True
        if self.copy.listed_at:  # it could be listed, and cannot any more
            self.copy = replace(self.copy, listed_at=None, unusable={})  # the order of its versions stays

    def _ask(self, keys: Sequence[SchemaKey]) -> None:
        try:
            found = self._reader.read_models(keys)
        except TryAgain as error:
            self.stale = str(error)
            return
        self._is_asked = True
        asked = frozenset(key.model_key for key in keys)
        self._keep(self.copy.with_models(asked, found, self._now), found.unreadable)

    def _keep(self, copy: RegistryCopy, unreadable: Collection[ModelKey] = ()) -> None:
        self.copy = copy
        if "://" in self.listed.address:  # a folder of this machine does not go away for a while
            self._copies.save(copy.without(unreadable))


def _resolve(registries: RegistryList, answers: Mapping[ListedRegistry, _Answers], wanted: frozenset[SchemaKey]) -> None:
    """Ask for schemas, and for those to which they refer, until each is found or no registry has it.

    Raises:
        TryAgain: a schema was not found, and a registry that may have it does not answer.
    """
    seen: set[SchemaKey] = set()
    while wanted := wanted - seen:
        seen |= wanted
        missing = set(wanted)
        for rank in range(len(registries.registries)):
            for listed, keys in _at_rank(registries, rank, missing).items():
                answers[listed].ask(sorted(keys))
                missing -= {key for key in keys if answers[listed].copy.has(key)}
        _check_missing(missing, answers)
        wanted = frozenset(_referred(wanted, answers))


def _at_rank(registries: RegistryList, rank: int, keys: Collection[SchemaKey]) -> Mapping[ListedRegistry, set[SchemaKey]]:
    """Return the schemas for which each registry is asked in a round: the first one of their vendor in round 0."""
    found: defaultdict[ListedRegistry, set[SchemaKey]] = defaultdict(set)
    for key in keys:
        found[registries.for_vendor(key.vendor)[rank]].add(key)
    return found


def _check_missing(missing: Collection[SchemaKey], answers: Mapping[ListedRegistry, _Answers]) -> None:
    """Check that what no registry has is known to be missing.

    Raises:
        TryAgain: a registry does not answer, so that it may have it.
    """
    stale = [answer for answer in answers.values() if answer.stale]
    if missing and stale:
        raise TryAgain("\n".join(_stopped(answer, missing) for answer in stale))


def _stopped(answer: _Answers, keys: Collection[SchemaKey]) -> str:
    names = shown_list(sorted(keys))
    return (
        f"the registry {answer.listed} does not answer, and its copy does not say whether it has {names}: "
        f"start the job again when it answers ({answer.stale})"
    )


def _referred(wanted: Collection[SchemaKey], answers: Mapping[ListedRegistry, _Answers]) -> Iterator[SchemaKey]:
    """Yield the schemas to which the models of some schemas refer: without them nothing validates data."""
    for model in {key.model_key for key in wanted}:
        for answer in answers.values():
            for schema in answer.models.get(model, ()):
                keys = (referred_key(reference) for _, reference in foreign_references(schema.json))
                yield from (key for key in keys if key)


def _merged(registries: RegistryList, answers: Mapping[ListedRegistry, _Answers], before: Orders) -> tuple[Registry, Orders]:
    """Return the schemas of all registries, and the orders of their versions, those of earlier runs included."""
    models: dict[ModelKey, tuple[JsonSchema, ...]] = {}
    origins: dict[SchemaKey, str] = {}
    orders: dict[ModelKey, tuple[SchemaKey, ...]] = dict(before)
    for model in dict.fromkeys(model for answer in answers.values() for model in answer.models):
        given = list(_given([answers[listed] for listed in registries.for_vendor(model.vendor)], model))
        found = {schema.key: (schema, address) for address, usable in reversed(given) for schema in usable}
        if found:
            orders[model] = kept_order(before.get(model, ()), [[one.key for one in usable] for _, usable in given])
            models[model] = tuple(found[key][0] for key in orders[model] if key in found)
            origins |= {key: address for key, (_, address) in found.items()}
    unusable = {uri: why for one in reversed(registries.registries) for uri, why in answers[one].copy.unusable.items()}
    usable_uris = {key.uri for key in origins}
    adopted = {key: table for one in reversed(registries.registries) for key, table in answers[one].copy.adopted.items()}
    registry = Registry(
        models,
        ", ".join(one.address for one in registries.registries),
        {uri: why for uri, why in unusable.items() if uri not in usable_uris},
        adopted,
        origins,
        {str(one): answer.stale for one, answer in answers.items() if answer.stale},
        known=tuple(orders),
    )
    return registry, orders


def _given(answers: Sequence[_Answers], model: ModelKey) -> Iterator[tuple[str, list[JsonSchema]]]:
    """Yield the address of each registry and its versions of a model, without those that an earlier one cannot use."""
    found: set[str] = set()
    refused: set[str] = set()
    for answer in answers:
        usable = [one for one in answer.models.get(model, ()) if one.key.uri not in refused]
        yield answer.listed.address, usable
        found |= {one.key.uri for one in usable}
        refused |= answer.copy.unusable.keys() - found
