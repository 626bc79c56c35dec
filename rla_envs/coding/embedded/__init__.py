"""Problems that installed packages ship: read from there, never copied."""
