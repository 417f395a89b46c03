"""Texts for pages: formatted numbers, formulas, and facts about runs in words. Imports `leaderboards.data`."""
