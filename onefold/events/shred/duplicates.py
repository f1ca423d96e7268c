"""Duplicates: events with one id. Trackers and collectors deliver events at least once, so an event may be read twice.

Events with one id and one fingerprint are one event. Events with one id and other fingerprints are several: one of them
keeps the id, and each other one gets an id that follows from both, and a context that names the original, as the tables of
Snowplow's own loaders have it (snowplow/snowplow-rdb-loader, "Deduplication", 2026-11).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from onefold.core.shred_options import InputForm
from onefold.events.shred.bad_rows import original_of
from onefold.events.shred.csv_values import TAB
from onefold.events.shred.entities import read_text
from onefold.events.shred.event import EventKey
from onefold.events.shred.event_fields import EVENT_FIELDS, EVENT_ID, FORMER_FIELDS
from onefold.events.shred.values import json_text

DUPLICATE = "iglu:com.snowplowanalytics.snowplow/duplicate/jsonschema/1-0-0"
"""The schema of the context of an event whose id another event has, as Iglu Central has it."""
LEFT_OUT = ""
"""The new id of a record that is not taken: another record is the same event."""
FINGERPRINT = "event_fingerprint"
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, DUPLICATE)
_DELIVERY = frozenset(
    f"{EVENT_ID} {FINGERPRINT} collector_tstamp etl_tstamp derived_tstamp dvce_sent_tstamp etl_tags v_collector v_etl "
    "network_userid user_ipaddress derived_contexts".split()
)
"""The fields that differ where one event is delivered twice: they tell of the request, of the time when it was sent, and of
the pipeline. Snowplow's fingerprint leaves out the parameters `eid`, `stm`, `nuid` and `cv` for the same reason, and fields
that a collector and enrichments add are none of its parameters."""
_DERIVED = ("geo_", "ip_")
"""The beginning of the names of fields that follow from the address of the request."""
_NUMBERS = {name: number for number, (name, _) in enumerate(EVENT_FIELDS)}
_OWN = tuple(name for name in _NUMBERS if name not in _DELIVERY and not name.startswith(_DERIVED))
_FIELD_COUNTS = (len(EVENT_FIELDS), *FORMER_FIELDS)
FIELDS_TO_ID = _NUMBERS[EVENT_ID] + 1
"""The fields of a line up to its id."""
_AFTER_FINGERPRINT = len(EVENT_FIELDS) - _NUMBERS[FINGERPRINT]
_up_to_id = re.compile(rb"(?!\{)" + rb"[^\t]*\t" * _NUMBERS[EVENT_ID] + rb"([^\t]*)\t").match
_own_texts = itemgetter(*(_NUMBERS[name] for name in _OWN))


class Copy(NamedTuple):
    """A record of a run whose id others have as well.

    Attributes:
        key: its id and fingerprint.
        place: where it is in the run.
        digest: that of the record, by which the same one of equal events is taken however often and from whichever files.
    """

    key: EventKey
    place: int
    digest: str


KeyReader = Callable[[str], EventKey | None]


def key_reader(form: InputForm) -> KeyReader:
    """Return the function that reads the key of a record: None for a record that has no id, or is no event of the form.

    Args:
        form: the form of the records; a bad row is read by its original.
    """
    read = _key_of_fields if form == "enriched-tsv" else _key_of_json
    return lambda record: read(original_of(record))


def id_reader(form: InputForm) -> Callable[[str], str | None]:
    """Return the function that reads the id of a record: of a good event, the one in its key; anything of another record."""
    read = _id_of_fields if form == "enriched-tsv" else _id_of_json
    return lambda record: read(original_of(record))


def sure_ids(lines: bytes) -> list[bytes] | None:
    r"""Return the id of each of some lines of tab separated fields, without reading the fields around it.

    Args:
        lines: whole lines, without the end of the last one.

    Returns:
        None where a line has to be read as `id_reader` reads it: it has too few fields, or begins with `{` as a bad row
        does, or an id has other characters than those of ASCII.

    Examples:
        >>> sure_ids(b"\t\t\t\t\t\te1\tpage_view\n\t\t\t\t\t\t\tpage_view"), sure_ids(b"e1\te2")
        ([b'e1', b''], None)
    """
    each = lines.split(b"\n")
    found = [match[1] for match in map(_up_to_id, each) if match]
    return found if len(found) == len(each) and b"".join(found).isascii() else None


def _id_of_fields(record: str) -> str | None:
    fields = record.split(TAB, FIELDS_TO_ID)
    return (fields[_NUMBERS[EVENT_ID]] or None) if len(fields) > FIELDS_TO_ID else None


def _id_of_json(record: str) -> str | None:
    found = _read(orjson.loads, record) or _read(json.loads, record)  # which differ in what they take for JSON
    id_ = found.get(EVENT_ID) if isinstance(found, dict) else None
    return id_ if isinstance(id_, str) and id_ else None


def _key_of_fields(record: str) -> EventKey | None:
    if record.count(TAB) == len(EVENT_FIELDS) - 1:  # the other fields are read where a fingerprint is computed only
        id_, given = record.split(TAB, FIELDS_TO_ID)[-2], _given(record.rsplit(TAB, _AFTER_FINGERPRINT)[1])
        if id_ and given:
            return EventKey(id_, given)
    fields = record.split(TAB)
    if len(fields) not in _FIELD_COUNTS or not fields[_NUMBERS[EVENT_ID]]:
        return None
    return key_of_texts(fields + [""] * (len(EVENT_FIELDS) - len(fields)))


def key_of_texts(fields: Sequence[str]) -> EventKey:
    """Return the key of an event of 131 texts, which has an id."""
    return EventKey(
        fields[_NUMBERS[EVENT_ID]], _given(fields[_NUMBERS[FINGERPRINT]]) or _digest(TAB.join(_own_texts(fields)))
    )


def _key_of_json(record: str) -> EventKey | None:
    found = _read(orjson.loads, record)
    if not isinstance(found, dict) or (found.get(EVENT_ID) and not _given(found.get(FINGERPRINT))):
        found = _read(json.loads, record)  # keeps all digits, which a computed fingerprint has
    if not isinstance(found, dict) or not isinstance(id_ := found.get(EVENT_ID), str) or not id_:
        return None
    return EventKey(id_, _given(found.get(FINGERPRINT)) or _digest(_own_json(found)))


def _read(loads: Callable[[str], Any], record: str) -> Any:
    """Return the value of a JSON text; None for what is not JSON."""
    try:
        return loads(record)
    except (ValueError, RecursionError):
        return None


def _own_json(found: Mapping[str, Any]) -> str:
    own = {name: value for name, value in found.items() if name not in _DELIVERY and not name.startswith(_DERIVED)}
    return json.dumps({name: value for name, value in own.items() if value is not None}, sort_keys=True)


def _given(fingerprint: Any) -> str | None:
    """Return the fingerprint that an event has; a digest of one with characters that no line of text may have."""
    if not isinstance(fingerprint, str) or not fingerprint:
        return None
    return fingerprint if fingerprint.isprintable() else _digest(fingerprint)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def digest_of(record: str) -> str:
    """Return the digest by which one of several equal events is taken."""
    return hashlib.sha256(record.encode("utf-8", "surrogatepass")).hexdigest()


def derived_id(key: EventKey) -> str:
    """Return the id of an event whose own id another one keeps: a UUID of version 5, which follows from id and fingerprint.

    Examples:
        >>> derived_id(EventKey("e1", "f1")) == derived_id(EventKey("e1", "f1")) != derived_id(EventKey("e1", "f2"))
        True
    """
    return str(uuid.uuid5(_NAMESPACE, TAB.join(key)))


def new_ids(copies: Iterable[Copy], known: Collection[EventKey]) -> Iterator[tuple[Copy, str]]:
    """Yield the records that do not keep their id, each with its new one, `LEFT_OUT` for those that are not taken.

    Whatever an earlier run has loaded stays as it is. So an id that an earlier run of the window has is kept by that run's
    event; an id that is new is kept by the event with the smallest fingerprint. Of equal events the one with the smallest
    digest is taken.

    Args:
        copies: the good records of the run whose ids are there twice, in the run or in earlier ones.
        known: the keys of earlier runs with these ids.
    """
    seen, taken = set(known), {key.id for key in known}
    for key, equal in itertools.groupby(sorted(copies), key=lambda copy: copy.key):
        first, *others = sorted(equal, key=lambda copy: (copy.digest, copy.place))
        yield from ((copy, LEFT_OUT) for copy in ([first, *others] if key in seen else others))
        if key not in seen and key.id in taken:
            yield first, derived_id(key)
        taken.add(key.id)


def with_id(record: str, form: InputForm, new_id: str) -> str:
    """Return a record with another id; all other values stay as they are.

    Args:
        record: the record, which has a key.
        form: its form.
        new_id: the id that it gets.

    Raises:
        BadEvent: the record is not JSON.
    """
    if form == "enriched-tsv":
        fields = record.split(TAB)
        fields[_NUMBERS[EVENT_ID]] = new_id
        return TAB.join(fields)
    return json_text({**read_text(record, "the record"), EVENT_ID: new_id})
