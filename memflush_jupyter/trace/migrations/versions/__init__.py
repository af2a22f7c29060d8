"""The revisions, oldest first; each leads a store one step up. A published one is never changed."""
