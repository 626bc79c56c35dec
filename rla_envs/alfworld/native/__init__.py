"""AlfWorld's games without TextWorld: rules and texts are read from the game itself and compiled."""
