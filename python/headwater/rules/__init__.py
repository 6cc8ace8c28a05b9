"""The components of learners: rules with their parameters, as a user writes them."""

from headwater.rules import query, scale, sparsify, update

__all__ = ["query", "scale", "sparsify", "update"]
