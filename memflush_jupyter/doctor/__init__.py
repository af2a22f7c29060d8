"""Looks at everything a turn needs, changes nothing, and says of each part that it is well or how to mend it."""

from __future__ import annotations

from memflush_jupyter.doctor.examination import Place, examine
from memflush_jupyter.doctor.report import Check, Report

__all__ = ["Check", "Place", "Report", "examine"]
