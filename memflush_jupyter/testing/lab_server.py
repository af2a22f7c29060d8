"""The Jupyter server that a browser test looks at, and the browser of this machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 60.0
_QUIET = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}


class NoBrowserError(Exception):
    """There is no browser, or not what drives it; the text says what to install."""


def find_browser() -> str:
    """The Chromium of this machine.

    Raises:
        NoBrowserError: there is none.
    """
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    raise NoBrowserError("No Chromium on this machine; tools/ensure_browser.sh installs it on Debian and Ubuntu.")


@contextlib.contextmanager
def serve(root: Path, scratch: Path, env: Mapping[str, str] | None, app: str) -> Iterator[str]:
    """A Jupyter server on loopback over ``root``, with its configuration in ``scratch``; yields its address.

    Raises:
        NoBrowserError: it did not come up.
    """
    port = _free_port()
    folders = {
        name: str(scratch / name.lower())
        for name in (
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_DATA_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTERLAB_SETTINGS_DIR",
            "JUPYTERLAB_WORKSPACES_DIR",
            "HOME",
            "IPYTHONDIR",
        )
    }
    for folder in folders.values():
        Path(folder).mkdir(parents=True)
    settings = Path(folders["JUPYTERLAB_SETTINGS_DIR"], "@jupyterlab", "apputils-extension", "notification.jupyterlab-settings")
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(_QUIET), encoding="utf-8")
    options = [
        "--no-browser",
        "--allow-root",
        f"--port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.ip=127.0.0.1",
        "--ServerApp.token=",
        "--ServerApp.password=",
    ]
    options += [f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True", "--ServerApp.disable_check_xsrf=True"]
    if app == "notebook":
        options.append("--JupyterNotebookApp.expose_app_in_browser=True")
    base = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")} if env is None else dict(env)
    with Path(scratch, "server.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen([sys.executable, "-m", app, *options], env={**base, **folders}, cwd=root, stdout=log, stderr=log)  # noqa: S603 - ours
        url = f"http://127.0.0.1:{port}"
        try:
            _wait_for(url, process, scratch / "server.log")
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/api", timeout=5):  # noqa: S310 - loopback
            return
        time.sleep(0.1)
    raise NoBrowserError(f"The Jupyter server did not come up:\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}")
