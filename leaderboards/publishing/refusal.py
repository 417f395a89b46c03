"""Why something is not published."""


class Refused(Exception):
    """Publishing would lose something or publish nothing; the message says what, and what to do about it."""
