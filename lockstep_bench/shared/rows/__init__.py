"""Files of rows: written at once, sealed, read and checked. Imports `shared.schema`."""
