"""Changes of a column's type that leave every landed value right.

Rows that landed before such a change, and rows that land after it, are equal where versions are joined: under the least
common type of both types. In doubt, they are not.
"""

from __future__ import annotations

from onefold.mysql.ddl.column_definition import ColumnDefinition
from onefold.mysql.table import BLOBS, INTEGERS, TEXTS, SourceColumn

STRICT = 1 << 21 | 1 << 22
"""The bits of `sql_mode` for STRICT_TRANS_TABLES and STRICT_ALL_TABLES: a value that does not fit is an error."""

_CHARSETS = {"latin1": 1, "ascii": 1, "utf8mb3": 3, "utf8mb4": 4}
"""Character sets that are converted into each other without a change of characters, or with an error in strict mode; each
with the most bytes of a character."""
_MOST_BYTES = max(_CHARSETS.values())
_FRACTIONS = ("time", "datetime", "timestamp")
_DIGITS = {"tinyint": 3, "smallint": 5, "mediumint": 8, "int": 10, "bigint": 20}
_MAX_NUMERIC = (38, 38)
"""The most digits before the point, and behind it, of a DECIMAL that does not land as text."""


def keeps_values(old: SourceColumn, new: ColumnDefinition, is_strict: bool) -> bool:
    """Return whether no value of a column lands differently after `MODIFY`.

    Args:
        old: the column before.
        new: its definition after.
        is_strict: whether the session's mode makes an error of each value that does not fit.

    Examples:
        >>> from onefold.mysql.table import SourceType
        >>> keeps_values(SourceColumn("id", SourceType("int")), ColumnDefinition("bigint"), True)
        True
        >>> keeps_values(SourceColumn("id", SourceType("bigint")), ColumnDefinition("int"), True)
        False
    """
    if new.not_null and not is_strict:
        return False  # NULLs become 0 or ''
    if new.type == "timestamp" and not new.nullable:
        return False  # NULLs become the present time
    if old.charset or new.charset:
        return _keeps_text(old, new, is_strict)
    if old.type.name == new.type:
        return _keeps_sizes(old, new)
    return _widens(old, new)


def _keeps_text(old: SourceColumn, new: ColumnDefinition, is_strict: bool) -> bool:
    before, after = _canonical(old.charset), _canonical(new.charset)
    same = before is not None and before == after
    # Without a character set the column gets the one of the table, which the statement does not say.
    if not same and not (is_strict and before in _CHARSETS and after in (None, *_CHARSETS)):
        return False
    if old.values:
        # A server replaces a character of a label that the character set lacks, also in strict mode.
        is_safe = same or after == "utf8mb4" or all(label.isascii() for label in old.values)
        return is_safe and _keeps_labels(old, new)
    name = old.type.name
    if new.type in TEXTS and not new.sizes:
        if name == "varchar":
            return _characters(old, before) * _MOST_BYTES < 1 << (8 * TEXTS[new.type])
        return name in TEXTS and TEXTS[name] <= TEXTS[new.type]
    # CHAR drops blanks at the end of a value, and PAD_CHAR_TO_FULL_LENGTH adds them.
    is_wider = bool(new.sizes) and _characters(old, before) <= new.sizes[0]
    return name == new.type and name in ("char", "varchar") and is_wider


def _characters(old: SourceColumn, charset: str | None) -> int:
    """Return the most characters of CHAR or VARCHAR, or more where the character set is not known."""
    return (old.type.size or 0) // bytes_per_character(charset)


def bytes_per_character(charset: str | None) -> int:
    """Return the most bytes of a character; 1, the least, for a character set that is not known."""
    return _CHARSETS.get(charset or "", 1)


def _keeps_labels(old: SourceColumn, new: ColumnDefinition) -> bool:
    """Return whether all values of ENUM or SET keep their numbers."""
    return old.type.name == new.type and new.values[: len(old.values)] == old.values


def _keeps_sizes(old: SourceColumn, new: ColumnDefinition) -> bool:
    """Return whether a type without text, with other sizes, holds all former values in the same way."""
    name, size = old.type.name, old.type.size or 0
    if name in INTEGERS:
        return _contains(old, new)
    if name == "decimal":
        return _holds_digits((size, old.type.scale or 0), old.type.unsigned, new)
    if name in _FRACTIONS:
        return size <= (new.sizes[0] if new.sizes else 0)
    if name in ("varbinary", "bit"):
        return size <= (new.sizes[0] if new.sizes else 1)
    if name == "binary":
        return size == (new.sizes[0] if new.sizes else 1)
    if name in ("float", "double"):
        return not new.sizes and (old.type.unsigned or not new.unsigned)
    return name in ("date", "year", "json", *BLOBS) and not new.sizes and not (name == "year" and new.not_null)


def _widens(old: SourceColumn, new: ColumnDefinition) -> bool:
    """Return whether another type holds all former values, and they land as equal ones."""
    name = old.type.name
    if name in INTEGERS and new.type in INTEGERS:
        return _contains(old, new)
    if name in INTEGERS and new.type == "decimal":
        return _holds_digits((_DIGITS[name], 0), old.type.unsigned, new)
    if name in BLOBS and new.type in BLOBS:
        return BLOBS[name] <= BLOBS[new.type] and not new.sizes
    if name == "varbinary" and new.type in BLOBS:
        return (old.type.size or 0) < 1 << (8 * BLOBS[new.type]) and not new.sizes
    return (name, new.type) == ("date", "datetime")


def _contains(old: SourceColumn, new: ColumnDefinition) -> bool:
    """Return whether an integer type contains another."""
    before, after = INTEGERS[old.type.name], INTEGERS[new.type]
    if old.type.unsigned == new.unsigned:
        return before <= after
    return old.type.unsigned and before < after


def _holds_digits(old: tuple[int, int], was_unsigned: bool, new: ColumnDefinition) -> bool:
    """Return whether a DECIMAL holds numbers with so many digits, and so many of them behind the point."""
    precision, scale = (*new.sizes, *(10, 0)[len(new.sizes) :])[:2]
    whole = old[0] - old[1]
    lands_as_number = max(whole, precision - scale) <= _MAX_NUMERIC[0] and scale <= _MAX_NUMERIC[1]
    return lands_as_number and whole <= precision - scale and old[1] <= scale and (was_unsigned or not new.unsigned)


def _canonical(charset: str | None) -> str | None:
    return "utf8mb3" if charset == "utf8" else charset
