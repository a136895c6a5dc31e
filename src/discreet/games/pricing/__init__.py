"""One price for many bidders, and the bidders' reasons to bid what they mean."""
