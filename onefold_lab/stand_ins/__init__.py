"""What stands in the place of BigQuery where BIGQUERY_EMULATOR_HOST names the embedded one."""
