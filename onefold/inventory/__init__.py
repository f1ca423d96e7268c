"""What `onefold tables` shows: all tables of datasets with their versions and views, and one table over time."""
