"""A message becomes a Spark batch on Dataproc Serverless."""
