"""The embedded model ``tiny``: its vocabulary, its demonstrations, and the script that makes it."""
