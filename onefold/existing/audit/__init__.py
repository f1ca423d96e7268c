"""What is wrong with tables that other tools have written, found without changing anything."""
