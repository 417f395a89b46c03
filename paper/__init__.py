"""The draft of a paper about the benchmark: its text, and the numbers, tables and figures computed from kept rows.

`python -m paper` writes LaTeX into `build/paper` and makes the PDF. No result stands in the text: each is a macro that
`numbers` defines. The package is part of the repository but not of the wheel. It may import `leaderboards` and all
below it; nothing imports it.
"""
