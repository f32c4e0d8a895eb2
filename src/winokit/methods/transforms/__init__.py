"""Problems made from problems: a new problem, or the reason why there is none; never a guess."""
