"""Which methods there are, what pages say of them, and the scaffold of a new one. Imports no torch."""
