"""The former name of `spark_jobs/pull.py`, for one release. On a cluster no other file of this folder is there to be run."""

import sys

from onefold.batches.jobs import former_name_warning
from onefold.spark.pull.main import main

if __name__ == "__main__":
    sys.stderr.write(f"{former_name_warning('extract')}\n")
    sys.exit(main(sys.argv[1:]))
