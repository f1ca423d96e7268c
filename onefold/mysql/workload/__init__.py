"""A workload on a real MySQL or MariaDB, with a known truth: the rows of its table at the end, as they have to arrive."""
