"""Which tools the main path of a conversation offers: the notebook's own, and those of files, messages and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memflush_jupyter.agent.tools.file_tools import ListFiles, Reach, ReadFile, SearchFiles
from memflush_jupyter.agent.tools.memory_tools import MemorySearch, MemoryWrite
from memflush_jupyter.agent.tools.message_tools import ReadMessage

if TYPE_CHECKING:
    from collections.abc import Callable

    from memflush_jupyter.agent.conversation import Conversation
    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.agent.tools.base import Tool


def tools_for(parts: AgentParts, model: str, conversation: Conversation, in_context: Callable[[], set[tuple[str, int]]]) -> list[Tool]:
    """The tools of one conversation; ``in_context`` tells which messages the model sees already, so that none is told twice."""
    reach = Reach(parts.folder, parts.config.allowed_paths)
    tools: list[Tool] = [*parts.extra_tools, ReadFile(reach), ListFiles(reach), SearchFiles(reach), ReadMessage(parts.store, parts.identity)]
    if parts.memory is not None and parts.writer is not None:
        count = parts.counter(model).text
        declared = list(parts.config.memory_files)
        tools.append(MemoryWrite(parts.memory, parts.writer, parts.store, declared, lambda: conversation.messages))
        tools.append(MemorySearch(parts.store, parts.identity, count, tokens=parts.config.recall_tokens, in_context=in_context))
    return tools
