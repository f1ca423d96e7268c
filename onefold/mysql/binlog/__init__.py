"""The binary log: its stream, its events and their values."""
