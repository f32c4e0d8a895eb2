"""How the tables came to be what they are, one step a file, run whenever a study is opened."""
