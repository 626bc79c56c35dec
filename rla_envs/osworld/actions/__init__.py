"""Actions: what an agent may say, and the events that it means."""
