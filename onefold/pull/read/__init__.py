"""Tables of a source that are pulled by watermark, to files that load jobs take."""
