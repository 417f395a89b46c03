"""Native training loops: C++ made from the graph of one replica's update, with one replica in each SIMD lane.

Imports no other room but `shared.texts`.
"""
