"""Amazon Redshift by its Data API, with files in S3."""
