"""Desktops to act on: in a box on this machine, in a container, or behind an address."""
