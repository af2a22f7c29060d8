"""Parsing the lines of magics: ``argparse`` that speaks in sentences and never ends the process."""

from __future__ import annotations

import argparse
import difflib
import shlex
from collections.abc import Callable, Mapping
from typing import NoReturn

from memflush_jupyter.errors import ConfigError


class HelpAsked(Exception):  # noqa: N818 - not an error: the person asked for help
    """``--help`` was given; the text is the help."""


class Parser(argparse.ArgumentParser):
    """A parser for one magic or subcommand. Faults are ``ConfigError`` sentences."""

    def __init__(self, prog: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=prog, description=description, epilog=epilog, add_help=False, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        self.add_argument("-h", "--help", action="store_true", help="show this text")

    def parse(self, line: str) -> argparse.Namespace:
        """Parse a magic's line.

        Raises:
            HelpAsked: the line asks for help.
            ConfigError: it cannot be understood.
        """
        words = split(line)
        if "-h" in words or "--help" in words:
            raise HelpAsked(self.format_help())
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        """Raise the fault as a sentence, with the nearest option when one was mistyped."""
        unknown = message.partition("unrecognized arguments: ")[2].split()
        options = [option for action in self._actions for option in action.option_strings]
        near = next((match for word in unknown for match in difflib.get_close_matches(word, options, n=1)), None)
        if unknown and near:
            raise ConfigError(f"{self.prog} has no option {unknown[0]!r}. Did you mean {near}? `{self.prog} --help` lists them.")
        raise ConfigError(f"{self.prog}: {message}. `{self.prog} --help` shows how it is used.")


def split(line: str) -> list[str]:
    """The words of a line, quotes understood.

    Raises:
        ConfigError: a quote is not closed.
    """
    try:
        return shlex.split(line)
    except ValueError:
        raise ConfigError(f"A quote is not closed in `{line.strip()}`.") from None


def choose(magic: str, word: str, known: Mapping[str, Callable[..., object]]) -> str:
    """The subcommand ``word`` of ``magic``.

    Raises:
        ConfigError: there is no such one; the sentence names the nearest.
    """
    if word in known:
        return word
    near = difflib.get_close_matches(word, [*known, "help"], n=1, cutoff=0.5)
    hint = f"Did you mean `{magic} {near[0]}`?" if near else f"There are: {', '.join(known)}."
    raise ConfigError(f"{magic} has no {word!r}. {hint}")


def count(text: str) -> int:
    """A number of things, at least 1, for ``type=``."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def setting(text: str) -> tuple[str, str]:
    """``NAME=VALUE`` as a pair, for ``type=``."""
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("MemFlush.")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value
