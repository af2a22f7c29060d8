"""Looking up what a reference names, without running code that is not known to be harmless.

A property of the person's own class may do anything, so it is not read. Attributes of the large libraries (a data frame's ``shape``)
are computed by code that everybody runs all day.
"""

from __future__ import annotations

import inspect
import types
from collections import namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memflush_jupyter.notebook.references import Reference

TRUSTED = frozenset(
    {"builtins", "collections", "datetime", "decimal", "fractions", "numpy", "pandas", "pathlib", "PIL", "polars", "pyarrow", "matplotlib", "scipy", "sklearn"}
)
"""Packages whose attributes are read as Python reads them."""

MISSING = object()
_FIELDS: tuple[Any, ...] = (types.MemberDescriptorType, type(vars(namedtuple("_Any", "field"))["field"]))  # noqa: PYI024 - for its descriptor
"""Descriptors that only read: slots, and fields of named tuples."""


@dataclass(frozen=True)
class Names:
    """What a prompt may refer to. ``inputs``, ``outputs``, ``errors`` by execution count; ``pictures``: PNG shown by a cell, in base64."""

    variables: Mapping[str, Any]
    hidden: Mapping[str, Any]
    inputs: list[str]
    outputs: Mapping[int, Any]
    errors: Callable[[int], str | None]
    pictures: Callable[[int], list[str]] = lambda _: []


def names_of(ip: Any, errors: Callable[[int], str | None]) -> Names:
    """The names of a shell."""
    history = ip.history_manager

    def pictures(count: int) -> list[str]:
        shown = getattr(history, "outputs", {})
        bundles = [output.bundle for output in shown.get(count, [])] if count in shown else []
        return [picture for bundle in bundles if (picture := _base64(bundle.get("image/png")))]

    return Names(ip.user_ns, ip.user_ns_hidden, history.input_hist_raw, history.output_hist, errors, pictures)


def reach(reference: Reference, names: Names) -> Any:
    """The value, or ``MISSING``: there is no such name, or reading it would run foreign code."""
    value = _root(reference, names)
    for attribute in reference.path:
        if value is MISSING or attribute.startswith("_"):
            return MISSING
        value = attribute_of(value, attribute)
    return MISSING if reference.path and _is_method(value) else value


def exists(name: str, names: Names) -> bool:
    """Whether a variable counts: it is the person's, not the shell's, and not private."""
    if name.startswith("_") or name not in names.variables:
        return False
    return not (name in names.hidden and names.hidden[name] is names.variables[name])


def _root(reference: Reference, names: Names) -> Any:
    number = reference.number
    if reference.head == "name":
        return names.variables[reference.name] if exists(reference.name, names) else MISSING
    if reference.head == "In":
        return names.inputs[number] if 0 < number < len(names.inputs) and names.inputs[number] else MISSING
    if reference.head == "Err":
        found = names.errors(number)
        return MISSING if found is None else found
    if number in names.outputs:
        return names.outputs[number]
    shown = names.pictures(number)
    return Picture(shown[-1]) if shown else MISSING


@dataclass(frozen=True)
class Picture:
    """A PNG that a cell showed without returning it."""

    png: str


def attribute_of(value: Any, name: str) -> Any:
    """One attribute, read without foreign code; else ``MISSING``."""
    if isinstance(value, types.ModuleType):
        return vars(value).get(name, MISSING)
    kind = type(value)
    if trusted(kind):
        try:
            return getattr(value, name)
        except Exception:  # noqa: BLE001 - it is not there
            return MISSING
    try:
        found = inspect.getattr_static(value, name)
    except Exception:  # noqa: BLE001 - it is not there
        return MISSING
    if isinstance(found, _FIELDS):
        try:
            return found.__get__(value, kind)
        except AttributeError:
            return MISSING
    plain = name in _instance(value) or not hasattr(type(found), "__get__")
    return found if plain else MISSING


def trusted(kind: type) -> bool:
    """Whether all code of a class comes from one of the large libraries."""
    return all(str(base.__module__).partition(".")[0] in TRUSTED for base in kind.__mro__)


def _instance(value: Any) -> Mapping[str, Any]:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def _is_method(value: Any) -> bool:
    return isinstance(value, types.MethodType | types.BuiltinFunctionType | types.MethodWrapperType)


def _base64(picture: Any) -> str:
    import base64

    if isinstance(picture, bytes):
        return base64.b64encode(picture).decode("ascii")
    return "".join(picture.split()) if isinstance(picture, str) else ""
