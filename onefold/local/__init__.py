"""The embedded stack: emulators and local servers that replace Google Cloud on a laptop."""
