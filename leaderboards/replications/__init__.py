"""Replications: numbers and claims of papers compared with runs that repeat them, with computed verdicts.

`judgement` and `claims` hold the rules; `comparison` applies them to every table and figure that `shared.papers` lists.
Imports `shared.papers.entries`, `leaderboards.stats` and the layers below it.
"""
