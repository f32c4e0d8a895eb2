-- The tables of an index of sentences (methods/hunting).
CREATE TABLE files (
    id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, hash TEXT NOT NULL, size INTEGER NOT NULL,
    modified INTEGER NOT NULL, done INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE blocks (
    file INTEGER NOT NULL, number INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
    sentences INTEGER NOT NULL, PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE INDEX blocks_by_sentence ON blocks (first);
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE sentences USING fts5 (text, tokenize = 'unicode61 remove_diacritics 0');
