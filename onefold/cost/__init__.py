"""What a dataset or a planned installation costs a month: prices, formulas, what was measured, and the best savings."""
