"""Settings from the environment and from onefold.yaml, checked at start."""
