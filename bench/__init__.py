"""The engine room: suites and cells, the tuner, the scheduler, the stack, metrics and results."""
