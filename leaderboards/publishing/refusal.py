"""The exception that publishing raises if it would overwrite foreign files or publish nothing."""


class PublishingRefused(Exception):
    """Raised if publishing would overwrite foreign files or publish nothing; the message states the remedy."""
