"""Evaluation: tuning, training and scoring of methods on splits of a data set.

A cell is one method on one split. The module `assignment` defines which cells are evaluated together, and `fits` their
training rows. `trainer` trains, `search` tunes hyper-parameters, and scorers (`scoring`) compute metrics. Each kind
of evaluation has a module: by predictions on tables, by comparison with a reference posterior, on images, on streams of
vectors, and by decisions (bandits, optimisation, active learning). `tuned` runs an evaluation.

Imports allowed here: `bench.engine`, `bench.evaluation.tuning`, `bench.reference` and `bench.metrics`.
"""
