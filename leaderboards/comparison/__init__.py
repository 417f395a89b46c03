"""Two sets of results side by side: what moved beyond noise. Imports `leaderboards.stats` and below."""
