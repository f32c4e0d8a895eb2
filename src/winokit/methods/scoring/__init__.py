"""Model + problem -> score per candidate. One short file per scoring."""
