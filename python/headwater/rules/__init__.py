"""The components that learners are made of: rules and their parameters, as a user writes them."""

from headwater.rules import query, scale, sparsify, update

__all__ = ["query", "scale", "sparsify", "update"]
