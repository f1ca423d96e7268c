"""Libraries with machine code, which Python cannot import from `spark.zip`: the batch brings them in an archive.

Spark unpacks the archive on the driver and on each executor, into a folder that has the name of the archive.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark import SparkContext, SparkFiles

from onefold.ports.batches import COMPILED_LIBRARIES


def add_libraries() -> None:
    """Append the folder of the archive to the path of modules; do nothing where there is no archive."""
    if not SparkFiles._is_running_on_worker and SparkContext._active_spark_context is None:
        return
    folder = Path(SparkFiles.getRootDirectory(), COMPILED_LIBRARIES)
    if folder.is_dir() and str(folder) not in sys.path:
        sys.path.append(str(folder))
