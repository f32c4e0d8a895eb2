"""Problems made from problems.

Each returns a new problem, or the reason why there is none. It never guesses.
"""
