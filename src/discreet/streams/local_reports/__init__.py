"""Reports of the local model on a stream: nothing but reports is kept, so the memory may be seized."""
