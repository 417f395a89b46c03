"""Numbers, formulas and facts about runs in words. Imports `leaderboards.data`."""
