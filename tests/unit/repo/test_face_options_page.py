"""The reference page is what the options say."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def test_the_page_of_options_is_not_stale(repository: Path) -> None:
    spec = importlib.util.spec_from_file_location("make_config_reference", repository / "tools" / "make_config_reference.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.PAGE.read_text(encoding="utf-8") == tool.page(), "run `python tools/make_config_reference.py`"
    assert tool.page().count("MEMFLUSH_") == len(tool.MemFlush.class_traits(config=True))
    assert tool.page().count("\n## ") >= 6
