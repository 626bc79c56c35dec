"""Household text games: find, clean, heat, cool, examine and place things."""
