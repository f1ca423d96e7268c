"""Numbers with their nouns, and names of any length, as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SHOWN_CHARACTERS = 60
"""A wrong name is shown up to this length, so that a hostile one cannot flood a log."""
_REASON_CHARACTERS = 200


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an `s` in the plural.

    Examples:
        >>> counted(1, "row"), counted(2_000, "row")
        ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size_text(size: int) -> str:
    """Return a number of bytes as people read it.

    Examples:
        >>> size_text(999), size_text(1_500_000)
        ('999 B', '1.5 MB')
    """
    units = ("B", "kB", "MB", "GB", "TB", "PB")
    power = min((len(str(size)) - 1) // 3, len(units) - 1)
    return f"{size} B" if power == 0 else f"{size / 1000**power:.1f} {units[power]}"


def cut(text: str, most: int = SHOWN_CHARACTERS) -> str:
    """Return a text of at most `most` characters, with an ellipsis in place of the rest.

    Examples:
        >>> cut("customer", 4)
        'cust…'
    """
    return text if len(text) <= most else text[:most] + "…"


def shown_list(names: Iterable[object], most: int = 8, joint: str = ", ") -> str:
    """Return names separated by commas, or by another joint, and the number of those that are left out.

    Examples:
        >>> shown_list(["a", "b", "c"], most=2)
        'a, b and 1 more'
    """
    texts = [str(name) for name in names]
    return joint.join(texts[:most]) + (f" and {len(texts) - most:,} more" if len(texts) > most else "")


def shown_lines(lines: Sequence[str], most: int = 20) -> list[str]:
    """Return the first lines, and one that says how many are left out.

    Examples:
        >>> shown_lines(["a", "b", "c"], most=2)
        ['a', 'b', 'and 1 more']
    """
    return list(lines) if len(lines) <= most else [*lines[:most], f"and {len(lines) - most:,} more"]


def reason_of(error: BaseException) -> str:
    """Return why something failed, on one short line: the words of the system, without numbers and paths of Python.

    Examples:
        >>> reason_of(PermissionError(13, "Permission denied", "/rows.json"))
        'Permission denied'
    """
    text = str(getattr(error, "strerror", None) or error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "no reason is given")
    return cut(line, _REASON_CHARACTERS)


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"}


def printable(text: str) -> str:
    r"""Return a text without control characters, which a terminal would carry out; line breaks and tabs stay.

    Examples:
        >>> printable("a\x1b[2Jb")
        'a\\x1b[2Jb'
    """
    return text.translate(_CONTROLS)


def shortened(name: str) -> str:
    """Return a name from outside in quotes, short enough for a log.

    Examples:
        >>> shortened("customer"), len(shortened("x" * 1_000))
        ("'customer'", 63)
    """
    return repr(name[:SHOWN_CHARACTERS]) + ("…" if len(name) > SHOWN_CHARACTERS else "")
