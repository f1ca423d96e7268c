"""The job that turns events into rows of tables. Importing it makes the libraries importable that a batch brings along."""

from onefold.spark.libraries import add_libraries

add_libraries()  # the modules of this package import them, also in the workers
