"""Following the advice of experts in private: which of them to trust at each round, and at what regret."""
