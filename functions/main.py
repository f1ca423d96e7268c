"""Every entry point of the functions, for `functions-framework --source functions/main.py --target NAME`.

Only the function that is served is imported: the others would cost a third of a cold start, and need other settings.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from imports import uncollected

# In a checkout the library is next to this folder. In the packaged source it is next to this file, which comes first in
# sys.path.
sys.path.append(str(Path(__file__).resolve().parent.parent))

NAMES = ("launch_batch", "load_shredded", "refresh_view", "schema_registry", "sink_records", "write_pages")


def __getattr__(name: str) -> Callable[..., object]:
    """Return the function of a name, from the module of that name. The framework asks for the one that it serves.

    Raises:
        AttributeError: there is no function of this name.
    """
    if name not in NAMES:
        raise AttributeError(f"expected one of the functions {', '.join(NAMES)}, got {name}")
    with uncollected():
        function: Callable[..., object] = getattr(import_module(name), name)
    return function


def __dir__() -> list[str]:
    """Return the names of the functions, which the framework lists where it is asked for another one."""
    return list(NAMES)
