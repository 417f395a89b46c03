"""The site: its pages and templates, and what they are made from. Imports every room but `leaderboards.publishing`."""
