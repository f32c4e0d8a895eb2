"""What the repository is made and checked with; nothing here is part of the package."""
