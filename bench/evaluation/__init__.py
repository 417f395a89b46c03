"""Tune, fit and score one kind of cell: predictions, posteriors, images, streams.

An `assignment` says what is to be learned, and `fits` on which rows. A `trainer` trains, the tuner of `search` chooses
hyper-parameters, and a scorer (`scoring`) judges. Each kind of cell has a module that makes these of an assignment, and
`tuned` runs them. Imports `bench.engine`, `bench.evaluation.tuning`, `bench.reference` and `bench.metrics`.
"""
