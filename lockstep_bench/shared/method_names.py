"""Names of methods, which may end with options: "mfvi(tempering=0.1)"."""


def registered(name: str) -> str:
    """Return a method's name without its options: "mfvi" for "mfvi(tempering=0.1)"."""
    return name.partition("(")[0]
