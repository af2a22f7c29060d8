"""Options that know where their value came from, say in a sentence what does not fit, and name the nearest when one is misspelt.

The order, the first that is given wins: a flag of one call, ``%config`` in the notebook, a ``MEMFLUSH_…`` variable, a
configuration file, the default. A fault in a file or variable changes nothing: it is kept, to be told once when work begins.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from traitlets import TraitError
from traitlets.config import Configurable
from traitlets.config.loader import Config, DeferredConfig, LazyConfigValue

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.option_values import from_text, short, takes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from traitlets import TraitType

PREFIX = "MEMFLUSH_"
OTHER_VARIABLES = frozenset({"MEMFLUSH_EXAMPLES"})
"""Variables with our prefix that are no options: the tests' own."""
DEFAULT, FILE, VARIABLE, NOTEBOOK, CODE = "default", "configuration file", "environment", "%config", "set in Python"
_NEAR = 0.6


class OptionError(TraitError):
    """A value does not fit, and the text says so in a sentence about the value, without the option's name."""


class NoSuchOptionError(AttributeError):
    """An option was asked for by a name that none has; shown as its sentence alone."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass(frozen=True)
class Fault:
    """What was wrong with an option that was given. ``held``: nothing may run until the person has set it properly."""

    sentence: str
    option: str = ""
    held: bool = False


class Settings(Configurable):
    """A :class:`Configurable` with those manners. Traits may carry the tags ``held`` (a limit), ``fixed`` (read once) and ``private``.

    ``refuse`` is called with the sentence of a fault in ``%config``; it may raise.
    """

    former_names: ClassVar[Mapping[str, str]] = {}
    """Names the same options have elsewhere, in lower case without underscores, and what they are called here."""

    def __init__(self, **given: Any) -> None:
        self._options: dict[str, TraitType[Any, Any]] = self.traits(config=True)
        self._sources: dict[str, str] = {}
        self._faults: list[Fault] = []
        self._told = 0
        self._origin = FILE
        self.in_use = False
        """Set when what is ``fixed`` has been read."""
        self.refuse: Callable[[str], None] = _raise
        self.observe(self._changed)
        super().__init__(**given)
        self._origin = CODE

    # -- asked ----------------------------------------------------------------------------------------------------------------

    @property
    def options(self) -> dict[str, TraitType[Any, Any]]:
        """Every option by name."""
        return self._options

    @property
    def faults(self) -> tuple[Fault, ...]:
        """What was wrong in configuration files and variables, and still is."""
        return tuple(self._faults)

    def source(self, name: str) -> str:
        """Where the value of an option comes from."""
        return self._sources.get(name, DEFAULT)

    def fingerprint(self) -> str:
        """Equal as long as no option changes: what was worked out from options is valid for one fingerprint."""
        return repr([getattr(self, name) for name in self._options])

    def held(self) -> dict[str, tuple[Any, str | None]]:
        """The limits as they stand, with where each comes from: for :meth:`take_back`."""
        return {name: (copy.deepcopy(getattr(self, name)), self._sources.get(name)) for name, trait in self._options.items() if trait.metadata.get("held")}

    def take_back(self, before: Mapping[str, tuple[Any, str | None]]) -> list[str]:
        """Set the limits to what they were; return the names of those that had changed."""
        changed = [name for name, (value, _) in before.items() if getattr(self, name) != value]
        for name in changed:
            self._set(name, copy.deepcopy(before[name][0]), before[name][1])
        return changed

    def take_faults(self) -> list[str]:
        """The sentences that were not told yet.

        Raises:
            ConfigError: a limit cannot be understood; nothing runs as if there were none.
        """
        held = [fault.sentence for fault in self._faults if fault.held]
        if held:
            raise ConfigError(" ".join(held))
        fresh = [fault.sentence for fault in self._faults[self._told :]]
        self._told = len(self._faults)
        return fresh

    @classmethod
    def nearest(cls, name: str) -> str | None:
        """The option that a misspelt name most likely means."""
        flat = name.lower().replace("_", "").replace(".", "")
        if flat in cls.former_names:
            return cls.former_names[flat]
        own = {option.replace("_", ""): option for option in cls.class_traits(config=True)}
        near = difflib.get_close_matches(flat, own, n=1, cutoff=_NEAR)
        return own[near[0]] if near else None

    def __getattr__(self, name: str) -> NoReturn:
        # Only asked for what does not exist: `%config MemFlush.modle` shows the sentence.
        raise NoSuchOptionError(self.unknown(name) if not name.startswith("_") else f"{type(self).__name__} has no {name!r}")

    # -- set ------------------------------------------------------------------------------------------------------------------

    def apply_environment(self, environ: Mapping[str, str]) -> None:
        """Set options from variables such as ``MEMFLUSH_MODEL``; an empty one counts as not set."""
        for variable in sorted(environ):
            if not variable.upper().startswith(PREFIX) or variable in OTHER_VARIABLES or not environ[variable].strip():
                continue
            name = variable[len(PREFIX) :].lower()
            if name not in self._options:
                near = self.nearest(name)
                hint = f" Did you mean {PREFIX}{near.upper()}?" if near else ""
                self._fault(Fault(f"The environment variable {variable} names no option and was ignored.{hint}"))
                continue
            try:
                self._set(name, from_text(self._options[name], environ[variable]), f"{VARIABLE} ({variable})")
            except (TraitError, ValueError) as error:
                self._fault(self._misfit(name, environ[variable], error, f"The environment variable {variable}"))

    def update_config(self, config: Config) -> None:
        """``%config MemFlush.NAME = value``: what fits is set, and ``refuse`` is told what does not."""
        sentences = []
        for name, value in self._offered(config).items():
            if name not in self._options:
                sentences.append(self.unknown(name))
                continue
            if self.in_use and self._options[name].metadata.get("fixed") and value != getattr(self, name):
                sentences.append(f"MemFlush.{name} was read before the first turn and stays. Restart the kernel and set it before the first `%%agent`.")
                continue
            try:
                self._set(name, self._plain(name, value), NOTEBOOK)
            except (TraitError, ValueError) as error:
                sentences.append(self._misfit(name, value, error, f"MemFlush.{name}", watched=True).sentence)
        if sentences:
            self.refuse(" ".join(sentences))

    @contextlib.contextmanager
    def overridden(self, given: Mapping[str, str], origin: str = "--set") -> Iterator[None]:
        """Give options other values for one call.

        Raises:
            ConfigError: there is no such option, it cannot change between calls, or the value does not fit.
        """
        before = {name: (getattr(self, name), self._sources.get(name)) for name in given if name in self._options}
        try:
            for name, text in given.items():
                self._for_one_call(name, text, origin)
            yield
        finally:
            for name, (value, source) in before.items():
                self._set(name, value, source)

    def _for_one_call(self, name: str, text: str, origin: str) -> None:
        if name not in self._options:
            raise ConfigError(self.unknown(name))
        if self._options[name].metadata.get("fixed"):
            raise ConfigError(f"MemFlush.{name} is read once, before the first turn, not for one call. Use `%config` before that.")
        try:
            self._set(name, from_text(self._options[name], text), origin)
        except (TraitError, ValueError) as error:
            raise ConfigError(self._misfit(name, text, error, f"MemFlush.{name}", watched=True).sentence) from error

    def unknown(self, name: str) -> str:
        """The sentence for a name that no option has."""
        near = self.nearest(name)
        return f"There is no option MemFlush.{name}. " + (f"Did you mean MemFlush.{near}?" if near else "`%agent config` lists them.")

    def _load_config(self, cfg: Config, section_names: list[str] | None = None, traits: dict[str, TraitType[Any, Any]] | None = None) -> None:  # noqa: ARG002 - traitlets' own signature
        for name, value in self._offered(cfg).items():
            if name not in self._options:
                near = self.nearest(name)
                hint = f" Did you mean c.MemFlush.{near}?" if near else ""
                self._fault(Fault(f"c.MemFlush.{name} in a configuration file names no option and was ignored.{hint}"))
                continue
            try:
                self._set(name, self._plain(name, value), FILE)
            except (TraitError, ValueError) as error:
                self._fault(self._misfit(name, value, error, f"c.MemFlush.{name} in a configuration file"))

    def _offered(self, config: Config) -> dict[str, Any]:
        return {name: value for name, value in self._find_my_config(config).items() if not isinstance(value, Config)}

    def _plain(self, name: str, value: Any) -> Any:
        if isinstance(value, LazyConfigValue):
            return value.get_value(getattr(self, name))
        return value.get_value(self._options[name]) if isinstance(value, DeferredConfig) else value

    def _set(self, name: str, value: Any, source: str | None) -> None:
        before, self._origin = self._origin, source or DEFAULT
        try:
            setattr(self, name, value)
        finally:
            self._origin = before
        if source is None:
            self._sources.pop(name, None)
        else:
            self._sources[name] = source
        self._forget_fault(name)

    def _changed(self, change: Any) -> None:
        if change["name"] in self._options:
            self._sources[change["name"]] = self._origin
            self._forget_fault(change["name"])

    def _fault(self, fault: Fault) -> None:
        self._faults.append(fault)

    def _forget_fault(self, name: str) -> None:
        kept = [fault for fault in self._faults if fault.option != name]
        self._told = min(self._told, len(kept))
        self._faults = kept

    def _misfit(self, name: str, value: Any, error: Exception, subject: str, *, watched: bool = False) -> Fault:
        """``watched``: the person sees at once that nothing was set, so that a limit needs no second warning."""
        trait = self._options[name]
        if isinstance(error, OptionError):
            sentence = f"{subject} cannot be used: {error}"
        else:
            shown = "" if trait.metadata.get("private") else f", not {short(value)}"
            sentence = f"{subject} takes {takes(trait)}{shown}."
        stays = getattr(self, name)
        held = bool(trait.metadata.get("held")) and not watched
        after = f"Set it with `%config MemFlush.{name} = …` before anything runs." if held else f"It stays {short(stays)}."
        return Fault(f"{sentence} {after if held or not trait.metadata.get('private') else ''}".rstrip(), name, held)

    # -- shown ----------------------------------------------------------------------------------------------------------------

    @classmethod
    def class_get_trait_help(cls, trait: TraitType[Any, Any], inst: Any = None, helptext: str | None = None) -> str:
        """The help that ``%config MemFlush`` prints, with where the value comes from."""
        shown = super().class_get_trait_help(trait, inst, helptext)
        return f"{shown}\n    From: {inst.source(trait.name)}" if isinstance(inst, Settings) and trait.name else shown


def _raise(sentence: str) -> None:
    raise ConfigError(sentence)
