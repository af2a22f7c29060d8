"""What the agent can do: one capability a file, all behind the same small protocol (``base.py``)."""
