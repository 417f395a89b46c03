"""Replications: the papers' numbers and claims beside the rows that were run for them, with computed verdicts.

`judgement` and `claims` hold the rules, `comparison` applies them to every entry of `shared.papers`. Imports
`shared.papers.entries`, `leaderboards.stats` and below.
"""
