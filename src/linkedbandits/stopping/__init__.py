"""Rules that say when enough has been seen."""
