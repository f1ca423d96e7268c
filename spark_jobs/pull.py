"""The batch that pulls the tables of a database into files, and loads these. See docs/reference/pull-job.md.

Exit codes: 0 done, or done before; 1 an error, wrong usage included; 2 some of the tables failed, or are gone.
"""

import sys

from onefold.spark.pull.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
