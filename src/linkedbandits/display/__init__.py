"""Results for people: short texts, small tables for notebooks, and frames of polars and pandas."""
