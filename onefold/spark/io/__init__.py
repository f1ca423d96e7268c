"""Files, folders and tables that Spark jobs read and write."""
