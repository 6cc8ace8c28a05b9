"""Learners, and the slots that they are made of."""

from headwater.learners import normalize, query, sparsify, update

__all__ = ["normalize", "query", "sparsify", "update"]
