"""The protocols through which a stage uses an outside system."""
