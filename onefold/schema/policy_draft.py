"""Drafts of policies from the names of columns, their types, and samples of their values.

A draft is a start for a person's decision, so it errs towards hiding: text that nothing is known about is masked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from onefold.schema.column_policy import Action
from onefold.schema.types import JSON, STRING, Array, Range, Scalar, Type

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"\+?[\d\s()/.-]{7,20}")
_CARD = re.compile(r"(?:\d[ -]?){13,19}")
_MOST_CODES = 20
"""Text with at most so many different values in the samples may be a code, such as a state or a currency."""
_LEAST_ROWS = 20
"""Fewer samples say nothing about how many different values there are."""
_LONGEST_CODE = 32

_SECRETS = {"password", "passwd", "pwd", "secret", "token", "salt", "pin", "cvv", "cvc", "apikey"}
_CARDS = {"card", "pan", "iban", "ssn", "passport", "creditcard", "bic"}
_EMAILS = {"email", "mail", "emailaddress"}
_PHONES = {"phone", "mobile", "tel", "telephone", "fax", "msisdn", "cell"}
_PEOPLE = {"firstname", "lastname", "surname", "fullname", "forename", "nickname", "username", "login", "birthname"}
_NAME_OF = {"first", "last", "full", "middle", "given", "family", "sur", "user", "display", "customer", "contact", "maiden"}
_PLACES = {"street", "address", "zip", "postcode", "postal", "city", "town", "latitude", "longitude", "lat", "lon", "lng"}
_BIRTHS = {"birth", "birthday", "birthdate", "dob", "born"}
_ONLINE = {"ip", "ipaddress", "useragent", "cookie", "session", "device", "imei", "mac"}
_FREE_TEXT = {"comment", "comments", "note", "notes", "message", "body", "text", "description", "remark", "subject"}
_CLEAR_NAMES = ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "FLOAT64", "DATE", "DATETIME", "TIMESTAMP", "TIME", "INTERVAL")
_CLEAR_TYPES = frozenset(map(Scalar, _CLEAR_NAMES))


@dataclass(frozen=True)
class Draft:
    """A proposed action, and the reason for people."""

    action: Action
    reason: str


def draft_policy(path: str, type_: Type, samples: Sequence[object]) -> Draft:
    """Return a proposed action for a column.

    Args:
        path: the column, or a field as `address.zip`.
        type_: its type; it holds no struct.
        samples: values of the column, NULL left out; they may be none.

    Examples:
        >>> draft_policy("work_email", STRING, [])
        Draft(action=<Action.HASH: 1>, reason='e-mail by its name')
        >>> draft_policy("contact", STRING, ["ada@example.com"])
        Draft(action=<Action.HASH: 1>, reason='e-mail by its values')
        >>> draft_policy("customer_id", Scalar("INT64"), [1, 2])
        Draft(action=<Action.CLEAR: 0>, reason='INT64')
    """
    words = [word.lower() for word in _WORD.findall(path.rpartition(".")[2])]
    element = type_.element if isinstance(type_, Array) else type_
    texts = [text for text in map(str, samples) if text]
    return _by_name({*words, "".join(words)}, words) or _by_values(texts, element) or _by_type(element, texts)


def _by_name(words: set[str], ordered: Sequence[str]) -> Draft | None:
    groups = (
        (_SECRETS, Action.DROP, "secret"),
        (_CARDS, Action.DROP, "card, account or document number"),
        (_EMAILS, Action.HASH, "e-mail"),
        (_PHONES, Action.HASH, "phone number"),
        (_PEOPLE, Action.MASK, "name of a person"),
        (_BIRTHS, Action.MASK, "date of birth"),
        (_PLACES, Action.MASK, "place"),
        (_ONLINE, Action.HASH, "trace of a device"),
        (_FREE_TEXT, Action.MASK, "free text"),
    )
    if ordered[-1:] == ["name"] and (len(ordered) == 1 or ordered[-2] in _NAME_OF):
        return Draft(Action.MASK, "name of a person by its name")
    # A flag or a number about something private, such as email_count or phone_verified, is hidden too: a person decides.
    return next((Draft(action, f"{noun} by its name") for known, action, noun in groups if words & known), None)


def _by_values(texts: Sequence[str], element: Type) -> Draft | None:
    if element != STRING or not texts:
        return None
    if _share(texts, _EMAIL.fullmatch) > 0:
        return Draft(Action.HASH, "e-mail by its values")
    if _share(texts, _CARD.fullmatch) > 0 and all(len(text) <= _LONGEST_CODE for text in texts):
        return Draft(Action.MASK, "numbers as long as those of cards")
    if _share(texts, _PHONE.fullmatch) > 1 / 2:
        return Draft(Action.HASH, "phone number by its values")
    return None


def _by_type(element: Type, texts: Sequence[str]) -> Draft:
    if isinstance(element, Range) or element in _CLEAR_TYPES:
        return Draft(Action.CLEAR, str(element))
    if element == STRING:
        distinct = set(texts)
        if len(texts) >= _LEAST_ROWS and len(distinct) <= _MOST_CODES and max(map(len, distinct)) <= _LONGEST_CODE:
            return Draft(Action.CLEAR, "text with few different values")
        return Draft(Action.MASK, "text")
    return Draft(Action.MASK, f"{element}, which may hold anything" if element == JSON else str(element))


def _share(texts: Sequence[str], matches: Callable[[str], object]) -> float:
    return sum(bool(matches(text)) for text in texts) / len(texts)
