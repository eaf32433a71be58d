"""Pictures. Needs matplotlib, which is imported when one is drawn."""
