"""The demo of `onefold demo`: a tour with example tables, or a database of the user."""
