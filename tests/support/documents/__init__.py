"""Checks that numbers in the project's Markdown documents equal the results that they come from.

A sentence or a table names the source of its numbers in an HTML comment, which rendered pages do not show:

    `map` has 0.72 where `vifa` has 2.73. <!-- rows uci paper rmse: yacht map 0.72, vifa 2.73 -->

`references` parses the comments, `evidence` looks up the numbers that they name, `commands` parses shell commands in
documents, and `texts` cuts a document into sections and blocks.
"""
