"""One JupyterLab and one browser for each module; a sentence where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memflush_jupyter.testing.lab import artefacts, start_lab
from memflush_jupyter.testing.lab_server import NoBrowserError


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A server over an empty folder."""
    try:
        with start_lab(tmp_path_factory.mktemp("lab")) as running:
            yield running
    except NoBrowserError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def pictures():
    """Where screenshots are kept."""
    return artefacts(Path(__file__).resolve().parent.parent / "artefacts" / "browser")
