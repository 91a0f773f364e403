"""The default model: an average of the members that predict held-out labels."""
