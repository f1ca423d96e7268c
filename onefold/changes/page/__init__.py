"""The page of a dataset: its tables over time, as one HTML file that needs nothing else."""
