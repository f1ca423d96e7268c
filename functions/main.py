"""Every entry point of the functions, for `functions-framework --source functions/main.py --target NAME`."""

import sys
from pathlib import Path

# In a checkout the library is next to this folder. In the packaged source it is next to this file, which comes first in
# sys.path.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from launch_batch import launch_batch
from load_shredded import load_shredded
from refresh_view import refresh_view
from schema_registry import schema_registry
from sink_records import sink_records

__all__ = ["launch_batch", "load_shredded", "refresh_view", "schema_registry", "sink_records"]
