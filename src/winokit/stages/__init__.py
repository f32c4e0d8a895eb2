"""What a verb does, where it has a page: its run, its page, its table and its template lie together."""
