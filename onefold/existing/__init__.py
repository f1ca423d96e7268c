"""Tables that other tools have written: which tool wrote a table, what its rows are, and what is wrong with them."""
