"""The one door to every model: Claude, a local server, or the offline analyst, through the same SDK client."""

from __future__ import annotations

from memflush_jupyter.models.pieces import ModelInfo, ModelReply, ModelRequest, Piece, Retry, TextPiece, ThinkingPiece, ToolPiece
from memflush_jupyter.models.pricing import Price

__all__ = ["ModelInfo", "ModelReply", "ModelRequest", "Piece", "Price", "Retry", "TextPiece", "ThinkingPiece", "ToolPiece"]
