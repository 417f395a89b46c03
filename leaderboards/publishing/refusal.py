"""The error that publishing raises."""


class PublishingRefused(Exception):
    """Publishing would lose files or publish nothing; the message says what, and what to do about it."""
