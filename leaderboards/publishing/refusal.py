"""The error that publishing raises."""


class PublishingRefused(Exception):
    """Raised if publishing would overwrite foreign files or publish nothing; the message states the remedy."""
