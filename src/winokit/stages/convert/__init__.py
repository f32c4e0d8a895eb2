"""Problems in the form that somebody else reads: another format, a harness's tasks, or the variants of an audit."""
