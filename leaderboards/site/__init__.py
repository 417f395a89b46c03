"""The site: its pages and templates, and the results and statistics that they show.

Imports every subpackage of `leaderboards` except `publishing` and `cli`.
"""
