"""Numbers in Markdown texts, and what they came from.

A sentence or a table names its source in a comment, which readers of the source see and pages do not show:

    `map` has 0.72 where `vifa` has 2.73. <!-- rows uci paper rmse: yacht map 0.72, vifa 2.73 -->

`references` lists the kinds of comments, `evidence` finds the numbers that they name, `commands` parses commands, and
`texts` cuts a file into sections and blocks.
"""
