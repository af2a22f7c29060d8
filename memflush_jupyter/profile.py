"""The options that a kernel started here would have, for a shell: the IPython profile's files, then the environment."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from traitlets.config.loader import Config, ConfigFileNotFound, JSONFileConfigLoader, PyFileConfigLoader

from memflush_jupyter.config import MemFlush
from memflush_jupyter.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("ipython_config", "ipython_kernel_config")


def shell_options(environ: Mapping[str, str]) -> MemFlush:
    """Read the options.

    Raises:
        ConfigError: a configuration file cannot be run.
    """
    config = Config()
    for folder in _folders():
        for name in NAMES:
            for loader in (PyFileConfigLoader(f"{name}.py", path=str(folder)), JSONFileConfigLoader(f"{name}.json", path=str(folder))):
                with contextlib.suppress(ConfigFileNotFound):
                    try:
                        config.merge(loader.load_config())
                    except ConfigFileNotFound:
                        raise
                    except Exception as error:
                        raise ConfigError(f"The configuration file {folder / loader.filename} cannot be read: {type(error).__name__}: {error}.") from error
    made = MemFlush(config=config)
    made.apply_environment(environ)
    return made


def _folders() -> list[Path]:
    """Where IPython looks, what counts least first."""
    from IPython.core.application import SYSTEM_CONFIG_DIRS
    from IPython.paths import get_ipython_dir

    return [*(Path(folder) for folder in reversed(SYSTEM_CONFIG_DIRS)), Path(get_ipython_dir(), "profile_default")]
