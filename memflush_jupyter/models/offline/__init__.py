"""The model that needs no network: ``offline/analyst``, rule-based and honest about it."""
