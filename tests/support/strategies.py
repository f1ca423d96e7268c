"""Generated types, values of a type as GoogleSQL expressions, types above a type, and versions with rows."""

from __future__ import annotations

from hypothesis import strategies as st

from onefold.schema.types import JSON, STRING, Array, Field, Range, Scalar, Struct, Type, render_type

# From each type up to STRING: written down here from the design a second time, so that the code is not its own judge.
CHAINS = (
    ("BOOL", "INT64", "NUMERIC", "BIGNUMERIC", "STRING"),
    ("FLOAT64", "STRING"),
    ("DATE", "DATETIME", "TIMESTAMP", "STRING"),
    ("TIME", "STRING"),
    ("INTERVAL", "STRING"),
    ("BYTES", "STRING"),
    ("JSON", "STRING"),
)
ABOVE = {name: chain[at:] for chain in CHAINS for at, name in enumerate(chain)}
RANGES = tuple(Range(Scalar(name)) for name in ("DATE", "DATETIME", "TIMESTAMP"))

_LONG = "REPEAT('żółw 🐢 ', 500)"

# Extremes of every type that the judge can evaluate (it has no functions of GEOGRAPHY), as expressions.
EXTREMES: dict[str, tuple[str, ...]] = {
    "STRING": (
        "''", "' '", "'null'", "'NULL'", "'0'", "'\\'\"`\\\\'", "'Zażółć gęślą jaźń'", "'日本語🐢'", "'a\\u0000b'",
        "'line\\nbreak'", "'[]'", "'{\"a\": 1}'", "'e\\u0301'", "'é'", _LONG,
    ),
    "BYTES": ("b''", "b'abc'", "b'\\x00'", "b'\\xff\\xfe'", "b'\\xc3\\xa9'", "b'\\xc3'", "CAST('日本語' AS BYTES)"),
    "BOOL": ("TRUE", "FALSE"),
    "INT64": ("0", "1", "-1", "2", "9223372036854775807", "-9223372036854775808", "9007199254740992", "9007199254740993"),
    "NUMERIC": (
        "NUMERIC '0'", "NUMERIC '1'", "NUMERIC '-1.5'", "NUMERIC '0.000000001'", "NUMERIC '0.1'",
        "NUMERIC '99999999999999999999999999999.999999999'", "NUMERIC '-99999999999999999999999999999.999999999'",
        "NUMERIC '9007199254740993'", "NUMERIC '9007199254740992'",
    ),
    "BIGNUMERIC": (
        "BIGNUMERIC '0'", "BIGNUMERIC '1'", "BIGNUMERIC '1e-38'", "BIGNUMERIC '2e-38'", "BIGNUMERIC '0.1'",
        "BIGNUMERIC '578960446186580977117854925043439539266.34992332820282019728792003956564819967'",
        "BIGNUMERIC '-578960446186580977117854925043439539266.34992332820282019728792003956564819968'",
        "BIGNUMERIC '123456789012345678901234567890.12345678901234567890123456789012345678'",
    ),
    "FLOAT64": (
        "0.0", "-0.0", "1.0", "0.1", "0.1 + 0.2", "0.3", "5e-324", "1.7976931348623157e308", "1.7976931348623155e308",
        "1e15", "9007199254740992.0", "9007199254740994.0", "CAST('nan' AS FLOAT64)", "CAST('inf' AS FLOAT64)",
        "CAST('-inf' AS FLOAT64)",
    ),
    "DATE": ("DATE '0001-01-01'", "DATE '9999-12-31'", "DATE '1970-01-01'", "DATE '2020-02-29'", "DATE '0999-12-31'"),
    "DATETIME": (
        "DATETIME '0001-01-01 00:00:00'", "DATETIME '9999-12-31 23:59:59.999999'", "DATETIME '1970-01-01 00:00:00.000001'",
        "DATETIME '1969-12-31 23:59:59.999999'", "DATETIME '2020-03-08 02:30:00'", "DATETIME '2020-03-08 03:30:00'",
        "DATETIME '2020-11-01 01:30:00'", "DATETIME '2020-02-29 00:00:00'", "DATETIME '2020-02-29 00:00:00.1'",
    ),
    "TIMESTAMP": (
        "TIMESTAMP '0001-01-01 00:00:00+00'", "TIMESTAMP '9999-12-31 23:59:59.999999+00'",
        "TIMESTAMP '1970-01-01 00:00:00+00'",
        "TIMESTAMP '2020-11-01 08:30:00+00'", "TIMESTAMP '2020-11-01 09:30:00+00'",
        "TIMESTAMP '2020-02-29 00:00:00.000001+00'",
    ),
    "TIME": ("TIME '00:00:00'", "TIME '23:59:59.999999'", "TIME '12:00:00.5'", "TIME '12:00:00.500001'"),
    "INTERVAL": (
        "INTERVAL 0 DAY", "INTERVAL 10000 YEAR", "INTERVAL -10000 YEAR", "INTERVAL 1 MONTH", "INTERVAL 30 DAY",
        "INTERVAL '1-2 3 4:5:6.000007' YEAR TO SECOND", "INTERVAL '0:0:0.000001' HOUR TO SECOND",
        "INTERVAL '-0:0:0.000001' HOUR TO SECOND",
    ),
    "JSON": (
        "JSON 'null'", "JSON '{}'", "JSON '[]'", "JSON '1'", "JSON '1.5'", "JSON '\"1\"'", "JSON '\"\"'", "JSON 'true'",
        "JSON '{\"a\": {\"b\": [1, null, \"ż\"]}}'", "JSON '{\"a\": null}'", "JSON '18446744073709551615'",
    ),
}  # fmt: skip


def _range_literals(element: str) -> tuple[str, ...]:
    low, high = EXTREMES[element][0], EXTREMES[element][1]
    middle = EXTREMES[element][2]
    none = f"CAST(NULL AS {element})"
    pairs = ((low, high), (none, middle), (middle, none), (none, none), (low, middle), (middle, high))
    return tuple(f"RANGE({start}, {end})" for start, end in pairs)


for _element in ("DATE", "DATETIME", "TIMESTAMP"):
    EXTREMES[f"RANGE<{_element}>"] = _range_literals(_element)

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)

# Names that SQL text may get wrong: reserved words, the names that expressions give to their own parts, other cases.
FIELD_NAMES = ("a", "b", "c", "v", "e1", "o1", "E1", "e2", "select", "null", "from", "żółw", "a b", "_x")


def text_literal(text: str) -> str:
    """Every character as its escape: independent of how the library quotes."""
    return "'" + "".join(f"\\U{ord(c):08x}" for c in text) + "'"


def bytes_literal(data: bytes) -> str:
    return "b'" + "".join(f"\\x{byte:02x}" for byte in data) + "'"


_GENERATED: dict[str, st.SearchStrategy[str]] = {
    "STRING": _TEXT.map(text_literal),
    "BYTES": st.binary(max_size=8).map(bytes_literal),
    "INT64": st.integers(-(2**63), 2**63 - 1).map(str),
    "NUMERIC": st.decimals(-(10**20), 10**20, places=9).map(lambda number: f"NUMERIC '{number}'"),
    "BIGNUMERIC": st.decimals(-(10**20), 10**20, places=30).map(lambda number: f"BIGNUMERIC '{number}'"),
    "FLOAT64": st.floats().map(lambda number: f"CAST('{number!r}' AS FLOAT64)"),
    "DATE": st.dates().map(lambda date: f"DATE '{date}'"),
    "DATETIME": st.datetimes().map(lambda time: f"DATETIME '{time}'"),
    "TIMESTAMP": st.datetimes().map(lambda time: f"TIMESTAMP '{time}+00'"),
    "TIME": st.times().map(lambda time: f"TIME '{time}'"),
}


def scalars(*, json: bool = True) -> st.SearchStrategy[Type]:
    names = [name for name in ABOVE if json or name != "JSON"]
    return st.sampled_from([*map(Scalar, names), *RANGES])


def structs(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    names = st.lists(st.sampled_from(FIELD_NAMES), min_size=1, max_size=3, unique_by=str.lower)
    return names.flatmap(
        lambda chosen: st.tuples(*(inner for _ in chosen)).map(
            lambda kinds: Struct(tuple(Field(name, kind) for name, kind in zip(chosen, kinds, strict=True)))
        )
    )


def arrays(inner: st.SearchStrategy[Type]) -> st.SearchStrategy[Type]:
    """Arrays of elements that are no arrays: an inner array is taken itself, since a filter refuses too many schemas."""
    return inner.map(lambda type_: type_ if isinstance(type_, Array) else Array(type_))


def types(*, json: bool = True, max_leaves: int = 5) -> st.SearchStrategy[Type]:
    """Any type but GEOGRAPHY, nested ones included."""
    return st.recursive(scalars(json=json), lambda inner: structs(inner) | arrays(inner), max_leaves=max_leaves)


def values(type_: Type) -> st.SearchStrategy[str]:
    """Expressions of the type, NULL among them."""
    return st.one_of(present(type_), st.just(f"CAST(NULL AS {render_type(type_)})"))


def present(type_: Type) -> st.SearchStrategy[str]:
    """Generate expressions that are not NULL but may contain NULL. A stored array neither is NULL nor contains NULL."""
    match type_:
        case Array(element):
            return st.lists(present(element), max_size=3).map(lambda items: _cast(f"[{', '.join(items)}]", type_))
        case Struct(fields):
            parts = (present(f.type) if isinstance(f.type, Array) else values(f.type) for f in fields)
            return st.tuples(*parts).map(lambda items: _cast(f"STRUCT({', '.join(items)})", type_))
        case _:
            extremes = st.sampled_from(EXTREMES[str(type_)])
            generated = _GENERATED.get(str(type_))
            return extremes if generated is None else extremes | generated


def _cast(expression: str, type_: Type) -> str:
    return f"CAST({expression} AS {render_type(type_)})"


@st.composite
def above(draw: st.DrawFn, type_: Type) -> Type:
    """A type at or above: what the type may have become in another version."""
    if not isinstance(type_, Array) and draw(st.integers(0, 5)) == 0:
        return Array(draw(above(type_).filter(lambda other: not isinstance(other, Array))))  # type: ignore[arg-type]
    match type_:
        case Array(element):
            return Array(draw(above(element).filter(lambda other: not isinstance(other, Array))))  # type: ignore[arg-type]
        case Struct():
            kind = draw(st.integers(0, 5))
            if kind < 2:
                return (JSON, STRING)[kind]
            return draw(_structs_above(type_))
        case Range():
            return STRING if draw(st.booleans()) else type_
        case Scalar(name):
            return Scalar(draw(st.sampled_from(ABOVE[name])))


@st.composite
def _structs_above(draw: st.DrawFn, type_: Struct) -> Struct:
    """Fields in another order and spelling, of greater types, and perhaps one more."""
    fields = [Field(draw(st.sampled_from([f.name, _upper(f.name)])), draw(above(f.type))) for f in type_.fields]
    if draw(st.booleans()):
        fields.append(Field("added", draw(types(max_leaves=2))))
    return Struct(tuple(draw(st.permutations(fields))))


def _upper(name: str) -> str:
    """The upper case of a letter that is not ASCII is another letter to the analyzer, and so another name."""
    return name.upper() if name.isascii() else name
