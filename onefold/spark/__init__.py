"""The Spark jobs: values and positions as BigQuery writes them, reading and writing of rows, one package for each job."""
