"""A registry in a folder: `schemas/<vendor>/<name>/<format>/<version>`, and the order of addition in an index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onefold.core.errors import InvalidInput, InvalidName, NotFound, SchemaInvalid
from onefold.core.text import shown_list
from onefold.events.registry.index import INDEX_PATH, Index, digest_of, parse_index
from onefold.events.registry.json_schema import FORMAT, JsonSchema, other_format, parse_schema
from onefold.events.registry.registry import Registry, certain_order, check_no_order, in_order, no_such_model
from onefold.events.registry.schema_key import ModelKey, SchemaKey, SchemaVer, uri_of

_PARTS = ("*", "*", FORMAT, "*")
CHANGED = "is not the schema that was added: restore it, and change a schema by a new version"


@dataclass(frozen=True)
class FolderScan:
    """The files of a folder.

    Attributes:
        schemas: the valid schemas, by the names of their files.
        broken: what is wrong with the other files, by their names below the folder.
        changed: the keys of the schemas that were added, and whose files have another content now.
        index: the schemas that were added, in the order of addition; None where there is no index.
    """

    schemas: tuple[JsonSchema, ...]
    broken: Mapping[str, tuple[str, ...]]
    changed: tuple[SchemaKey, ...]
    index: Index | None

    @property
    def problems(self) -> list[str]:
        """All that is wrong with files, each with the name of its file."""
        return [f"{name}: {problem}" for name, problems in self.broken.items() for problem in problems]


def read_folder(folder: Path, below: Sequence[str] = (), order: Sequence[SchemaVer] = ()) -> Registry:
    """Return the registry in a folder. What cannot be used is left out by name and stops nothing else.

    That is a file that is no valid schema, one of another format, and, unless it is the one model that is asked for, a model
    whose order of addition is not certain. Where an index says what was added, files that differ from it are errors.

    Args:
        folder: the folder that contains `schemas`.
        below: the vendor, name, format and model to read, or the first of these; all schemas by default.
        order: the versions of the one model in the order of their addition, where no index says so.

    Raises:
        NotFound: the folder has no folder `schemas`, or not the one model.
        InvalidInput: files are not what the index says, or the order of the one model is not certain; the error lists all
            problems.
    """
    scan = scan_folder(folder, below)
    if scan.index:
        check_no_order(order, str(folder))
    models, refused = _in_order(scan, order)
    is_model = len(below) == len(_PARTS)
    problems = list(dict.fromkeys(problem for one in refused.values() for problem in one)) if scan.index or is_model else []
    problems += scan.problems if is_model and not models else []
    if problems:
        raise InvalidInput(f"{folder}: {problem}" for problem in problems)
    if is_model and not models:
        raise NotFound(no_such_model(str(folder), ModelKey.parse("/".join(below)), _named(folder / "schemas")))
    unusable = {key.uri: shown_list(why, joint="; ") for key, why in refused.items()}
    return Registry(models, str(folder), _unusable_files(scan) | _of_other_formats(folder / "schemas", below) | unusable)


def _in_order(
    scan: FolderScan, order: Sequence[SchemaVer]
) -> tuple[dict[ModelKey, tuple[JsonSchema, ...]], dict[SchemaKey, tuple[str, ...]]]:
    """Return the models in the order of their addition, and why that of other schemas is not certain."""
    models: dict[ModelKey, tuple[JsonSchema, ...]] = {}
    refused: dict[SchemaKey, tuple[str, ...]] = {}
    for key, schemas in _by_addition(by_model(scan.schemas), scan.index):
        try:
            models[key] = _ordered(schemas, scan.index, order)
        except InvalidInput as error:
            refused |= dict.fromkeys((schema.key for schema in schemas), tuple(error.problems))
    return models, refused


def _unusable_files(scan: FolderScan) -> dict[str, str]:
    return {uri_of(name.removeprefix("schemas/")): shown_list(why, joint="; ") for name, why in scan.broken.items()}


def _of_other_formats(root: Path, below: Sequence[str]) -> dict[str, str]:
    """Return why the files of other formats cannot be used."""
    names = (*below[:2], *_PARTS[len(below[:2]) : 2], *(below[2:3] or "*"), "*")
    found = (path.relative_to(root) for path in sorted(root.glob("/".join(names))) if path.is_file())
    keys = ((path.as_posix(), path.parts[2]) for path in found if not _is_hidden(path))
    return {uri_of(path): other_format(format_) for path, format_ in keys if format_ != FORMAT}


def scan_folder(folder: Path, below: Sequence[str] = ()) -> FolderScan:
    """Read all files of a registry, and keep those that are not valid apart.

    Args:
        folder: the folder that contains `schemas`.
        below: the vendor, name, format and model whose files are read, or the first of these; all files by default.

    Raises:
        NotFound: the folder has no folder `schemas`.
        InvalidInput: the index is not valid.
    """
    root = folder / "schemas"
    if not root.is_dir():
        raise NotFound(f"{folder} has no folder schemas: expected schemas/<vendor>/<name>/<format>/<version>")
    scan = _scan(folder, _files(root, below), lambda path: _schema(path, root))
    index = _read_index(folder / INDEX_PATH)
    changed = tuple(_changed(scan.schemas, index)) if index else ()
    return replace(scan, schemas=_with_pending(list(scan.schemas), index, below), changed=changed, index=index)


def scan_files(folder: Path) -> FolderScan:
    """Read all files of a folder that is no registry yet, wherever they are in it; `add` takes the same folder.

    Raises:
        NotFound: there is no file.
    """
    return _scan(folder, schema_files(folder), _described)


def schema_files(folder: Path) -> list[Path]:
    """Return all files of a folder but hidden ones and indexes, by name.

    Raises:
        NotFound: there is none.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not _is_hidden(path.relative_to(folder))]
    if found := [path for path in files if path.name != "index.json"]:
        return found
    raise NotFound(f"{folder} has no files: name a file with a schema, or a folder of such files")


def _scan(folder: Path, files: Iterable[Path], read: Callable[[Path], JsonSchema]) -> FolderScan:
    schemas: list[JsonSchema] = []
    broken: dict[str, tuple[str, ...]] = {}
    for path in files:
        try:
            schemas.append(read(path))
        except InvalidInput as error:
            broken[path.relative_to(folder).as_posix()] = tuple(error.problems)
    return FolderScan(tuple(schemas), broken, (), None)


def by_model(schemas: Sequence[JsonSchema]) -> dict[ModelKey, list[JsonSchema]]:
    """Return schemas by their models."""
    models: dict[ModelKey, list[JsonSchema]] = defaultdict(list)
    for schema in schemas:
        models[schema.key.model_key].append(schema)
    return dict(models)


def _by_addition(models: dict[ModelKey, list[JsonSchema]], index: Index | None) -> list[tuple[ModelKey, list[JsonSchema]]]:
    """Return models in the order in which their first versions were added, which decides who has a name of tables."""
    places = {key.model_key: place for place, key in reversed(list(enumerate(index.keys if index else ())))}
    return sorted(models.items(), key=lambda one: places.get(one[0], len(places)))


def _files(root: Path, below: Sequence[str]) -> Iterator[Path]:
    """Yield the files where schemas belong; hidden files, such as those of editors, are skipped."""
    names = (*below[:3], *_PARTS[len(below) :]) if len(below) < len(_PARTS) else (*below[:3], f"{below[3]}-*")
    for path in sorted(root.glob("/".join(names))):
        if not _is_hidden(path.relative_to(root)) and path.is_file():
            yield path


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _named(root: Path) -> set[str]:
    """Return the paths of the models that files are named after."""
    paths = (path.relative_to(root) for path in _files(root, ()))
    return {(path.parent / path.name.partition("-")[0]).as_posix() for path in paths}


def _schema(path: Path, root: Path) -> JsonSchema:
    """Return the schema of a file.

    Raises:
        InvalidInput: the file cannot be read, is not valid, or stands at the place of another schema.
    """
    try:
        key = SchemaKey.parse(path.relative_to(root).as_posix())
    except InvalidName as error:
        raise InvalidInput(error.problems) from error
    schema = _described(path)
    if schema.key != key:
        raise InvalidInput(f"it describes itself as {schema.key}: move it to schemas/{schema.key.path}, or correct `self`")
    return schema


def _described(path: Path) -> JsonSchema:
    """Return the schema of a file, as it describes itself.

    Raises:
        InvalidInput: the file cannot be read, or is not valid.
    """
    try:
        return parse_schema(path.read_bytes())
    except OSError as error:
        raise InvalidInput(f"it cannot be read: {error.strerror}") from error
    except (InvalidName, SchemaInvalid) as error:
        raise InvalidInput(error.problems) from error


def _read_index(path: Path) -> Index | None:
    """Return the index of a folder; None where there is none.

    Raises:
        InvalidInput: the file cannot be read, or is not an index.
    """
    try:
        return parse_index(path.read_bytes(), str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}") from error


def _with_pending(schemas: list[JsonSchema], index: Index | None, below: Sequence[str]) -> tuple[JsonSchema, ...]:
    """Return schemas with the last one that was added, whose file may not be written yet: the index has its text.

    Raises:
        InvalidInput: the text is not a schema.
    """
    key, text = (index and index.pending) or (None, "")
    if key is None or not key.is_below(below):
        return tuple(schemas)
    return (*(schema for schema in schemas if schema.key != key), parse_schema(text))


def _changed(schemas: Iterable[JsonSchema], index: Index) -> Iterator[SchemaKey]:
    digests = {entry.key: entry.digest for entry in index.entries}
    for schema in schemas:
        if digests.get(schema.key, digest_of(schema)) != digest_of(schema):
            yield schema.key


def _ordered(schemas: list[JsonSchema], index: Index | None, order: Sequence[SchemaVer]) -> tuple[JsonSchema, ...]:
    """Return the versions of a model in the order of their addition.

    Raises:
        InvalidInput: the order is not certain, or does not fit to the files.
    """
    if order:
        return in_order(schemas, order)
    if index is None:
        return certain_order(schemas)
    by_key = {schema.key: schema for schema in schemas}
    known = [key for key in index.keys if key.model_key == schemas[0].key.model_key]
    problems = [f"{key} is in the index, and has no file: restore it" for key in known if key not in by_key]
    problems += [
        f"{key} is not in the index: add it with `onefold schema add`" for key in sorted(by_key.keys() - set(known))
    ]
    problems += [f"{key} {CHANGED}" for key in _changed(schemas, index)]
    if problems:
        raise InvalidInput(problems)
    return tuple(by_key[key] for key in known)
