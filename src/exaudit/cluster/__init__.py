"""The same work on many machines, by Ray. Nothing outside of this room imports Ray, and only when asked to."""
