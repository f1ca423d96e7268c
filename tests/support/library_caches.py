"""In `make mutants`, each test begins with empty caches: a value that an earlier test computed would hide a mutant.

mutmut runs all tests once, and forks that process for each mutant. Without this, a mutant of a function behind a cache is
never called, and the tests that reach such a function are not known.
"""

from __future__ import annotations

import os
import sys

from support.seeding import PROFILE


def clear_the_caches() -> None:
    """Clear the caches of the functions of the library, where mutants are tested."""
    if os.environ.get(PROFILE) != "mutants":
        return
    for name, module in list(sys.modules.items()):
        if name.startswith("onefold."):
            for value in list(vars(module).values()):
                if clear := getattr(value, "cache_clear", None):
                    clear()
