"""Problems as tasks of other people's harnesses: the one place that writes them."""
