"""Native training loops: C++ code for many updates of a stack, generated from the captured graph of one update.

A stack consists of R replicas, which are networks that are trained together. The code uses SIMD instructions: one of
them computes several numbers at once, one in each lane. The lanes hold the same number of different replicas, or
neighbouring numbers of one replica.

Imports allowed here: `shared.texts`.
"""
