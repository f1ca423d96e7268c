"""The tools whose tables are recognised, one module each. docs/reference/existing-tables.md says how to add one."""
