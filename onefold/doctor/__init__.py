"""The checks of `onefold doctor`: what keeps Onefold from working on this machine and in this project."""
