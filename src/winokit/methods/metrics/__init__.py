"""Plain functions over predictions, answers, numbers of candidates and group ids: no model, no Problem, no file."""
