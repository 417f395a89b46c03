"""The registry of methods, their descriptions for pages, and the scaffold of a new one.

Imports neither torch nor a method before `registry.get` loads one.
"""
