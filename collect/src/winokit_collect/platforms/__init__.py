"""Where workers come from: how they arrive, where they go when they are done, and how they are paid."""
