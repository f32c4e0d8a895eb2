"""Where problems, features and filters meet: what is removed, by which method, and what that changed."""
