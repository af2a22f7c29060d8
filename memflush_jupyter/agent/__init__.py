"""How a turn runs: the loop of model and tool calls, its side branches, and the prompts and tools they use."""
