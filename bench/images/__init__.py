"""Image classifiers: networks too large to be stacked, and what they are judged by."""
