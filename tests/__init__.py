"""Tests, in the folders of what they test. A package, because an installed one is called `tests`, too."""
