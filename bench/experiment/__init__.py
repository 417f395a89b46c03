"""Planning of a run: from the user's request to cells and jobs.

A suite is a collection of data sets with networks and protocols. A cell is one method on one split of a data set under
one protocol. A job is a group of cells that differ only in their split, which one worker process runs.

Imports allowed here: `bench.engine`, `bench.environment`, `shared.schema`, `datasets` and `methods`, and torch only
where a task is made.
"""
