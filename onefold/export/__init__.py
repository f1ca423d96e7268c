"""What other tools read of the views that Onefold keeps, as files for them."""
