"""Checks of tables against their source: numbers of rows, and every value of one chunk after the other."""
