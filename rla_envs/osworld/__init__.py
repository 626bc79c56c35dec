"""OSWorld: computer control on a real desktop, with tasks in OSWorld's own format."""
