"""Native training loops: C++ made from the graph of one replica's update, whose SIMD lanes hold replicas or neighbours.

Imports no other room but `shared.texts`.
"""
