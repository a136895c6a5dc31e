"""SQL, parsed into plans and printed from them."""
