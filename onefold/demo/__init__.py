"""What `onefold demo` shows."""
