"""What the Spark jobs are made of: values and positions as BigQuery writes them, change logs, folding and merging."""
