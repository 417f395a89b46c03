"""How long cells take and how much memory they need, and how they are grouped into jobs. Imports `bench.execution`."""
