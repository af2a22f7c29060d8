"""What a function takes, as the schema a model reads and a check of what it sends: from type hints and docstring."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.errors import ConfigError, ToolInputError

if TYPE_CHECKING:
    from pydantic import BaseModel

_NAME = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
_DESCRIPTION_CHARS = 1000


@dataclass(frozen=True)
class Signature:
    """One function as a tool: its text, its schema, and the check of an input."""

    description: str
    schema: dict[str, Any]
    model: type[BaseModel]
    name: str

    def arguments(self, given: dict[str, Any]) -> dict[str, Any]:
        """The keyword arguments of a call, as the hints want them; what is left out keeps the function's default.

        Raises:
            ToolInputError: it does not fit; the sentence is for the model.
        """
        from pydantic import ValidationError

        try:
            made = self.model.model_validate(given)
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors(include_url=False))
            raise ToolInputError(f"{self.name} cannot be called with that: {faults}.") from None
        fields = type(made).model_fields
        return {str(fields[field].alias): getattr(made, field) for field in made.model_fields_set}


def signature_of(function: Callable[..., Any], name: str) -> Signature:
    """Read a function.

    Raises:
        ConfigError: it cannot be a tool; the sentence says why and what to do.
    """
    from docstring_parser import parse
    from pydantic import ConfigDict, Field, create_model

    if not _NAME.match(name):
        raise ConfigError(f"{name!r} cannot be a tool's name: letters, digits, _ and - only, at most 64.")
    hints = _hints(function, name)
    told = parse(inspect.getdoc(function) or "")
    about = {param.arg_name.strip("*"): " ".join((param.description or "").split()) for param in told.params}
    fields: dict[str, Any] = {}
    for number, parameter in enumerate(_parameters(function, name)):
        if parameter.name not in hints:
            raise ConfigError(f"{name}: the parameter {parameter.name!r} has no type hint; write for example `{parameter.name}: int`.")
        _check(hints[parameter.name], name, parameter.name)
        needed = parameter.default is inspect.Parameter.empty
        # The default itself is the function's own: what is not given is not passed.
        field = Field(... if needed else None, alias=parameter.name, description=about.get(parameter.name) or None)
        fields[f"p{number}"] = (hints[parameter.name], field)
    model = create_model("Input", __config__=ConfigDict(extra="forbid"), **fields)
    schema = _plain(model.model_json_schema(by_alias=True), top=True)
    for parameter in _parameters(function, name):
        _tell_default(schema, parameter)
    text = "\n".join(part for part in (told.short_description, told.long_description) if part)
    return Signature((text or f"The person's function {name}.")[:_DESCRIPTION_CHARS], schema, model, name)


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} does not tell what it takes; wrap it in a function with type hints.") from error
    for parameter in parameters:
        if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise ConfigError(f"{name}: a tool cannot take {stars}{parameter.name}; name each parameter, or take a list.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigError(f"{name}: {parameter.name!r} is positional-only, and a model calls by name; remove the `/`.")
    return parameters


def _hints(function: Callable[..., Any], name: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception as error:
        raise ConfigError(f"{name}: its type hints cannot be read ({error}).") from error


def _check(hint: Any, name: str, parameter: str) -> None:
    from pydantic import PydanticUserError, TypeAdapter

    try:
        TypeAdapter(hint).json_schema()
    except (PydanticUserError, TypeError, NameError) as error:
        shown = getattr(hint, "__name__", str(hint))
        raise ConfigError(
            f"{name}: {parameter!r} is of type {shown}, which cannot be written as JSON; "
            "take the name of a variable, text, numbers, lists or dictionaries instead."
        ) from error


def _plain(schema: Any, *, top: bool = False) -> Any:
    """The schema without the titles that repeat each name, and without our stand-ins for defaults."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in {"properties", "$defs"} and isinstance(value, dict):
            kept[key] = {name: _plain(part) for name, part in value.items()}
        elif not (key == "title" and isinstance(value, str)):
            kept[key] = _plain(value)
    if top:
        kept.setdefault("properties", {})
        kept.pop("additionalProperties", None)
        for part in kept["properties"].values():
            part.pop("default", None)
    return kept


def _tell_default(schema: dict[str, Any], parameter: inspect.Parameter) -> None:
    from pydantic_core import to_jsonable_python

    if parameter.default is inspect.Parameter.empty:
        return
    try:
        schema["properties"][parameter.name]["default"] = to_jsonable_python(parameter.default)
    except Exception:  # noqa: BLE001 - a default that JSON cannot say is simply not told
        return
