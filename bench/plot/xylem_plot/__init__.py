"""Pictures and a report of what xylem-noise and xylem-sim have written."""

__version__ = "0.1.0"
