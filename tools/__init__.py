"""Tools that make and check the repository. Nothing here is part of the package."""
