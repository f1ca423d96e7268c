"""Every entry point of the functions, for `functions-framework --source functions/main.py --target NAME`."""

import sys
from pathlib import Path

# In a checkout the library lies beside this folder; in the packaged source it lies beside this file, and wins.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from launch_batch import launch_batch
from refresh_view import refresh_view
from sink_records import sink_records

__all__ = ["launch_batch", "refresh_view", "sink_records"]
