"""Every rule in plain Python: one function a rule, straight from the papers, O(d), no cleverness.

The core is tested against it, one step at a time. It imports nothing from the package.
"""
