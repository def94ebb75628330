"""Decisions become insight: features, comparisons, reliability, exemplar tables, and pages of all of them."""
