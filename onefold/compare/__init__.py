"""Two sets of rows, compared row by row."""
