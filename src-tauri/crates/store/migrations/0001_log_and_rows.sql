-- "Hold": tells our files from other programs'.
PRAGMA application_id = 1215261796;

-- Sessions by a small number: events, interrupts and spend refer to it instead of repeating a 31-character id.
-- `row` is the whole SessionRow as JSON; the other columns exist because a query below needs them.
CREATE TABLE session (
  id             INTEGER PRIMARY KEY,
  session_id     TEXT    NOT NULL UNIQUE,
  tenant         TEXT    NOT NULL,
  root           TEXT    NOT NULL,
  parent         TEXT,
  agent_id       TEXT    NOT NULL,
  top_level      INTEGER NOT NULL,
  first_event_at INTEGER NOT NULL,
  last_event_at  INTEGER NOT NULL,
  wake_at        INTEGER,
  busy           INTEGER NOT NULL,
  seq            INTEGER NOT NULL,
  changed        INTEGER NOT NULL,
  row            TEXT    NOT NULL
) STRICT;
-- list_sessions, newest activity first.
CREATE INDEX session_by_last_event ON session (tenant, last_event_at);
-- list_sessions, by age.
CREATE INDEX session_by_first_event ON session (tenant, first_event_at);
-- changes_since, and the counter at open.
CREATE INDEX session_by_change ON session (changed);
-- family: a root with all its descendants.
CREATE INDEX session_by_root ON session (root);
-- unfinished: what to wake at start, whatever the number of sessions at rest.
CREATE INDEX session_busy ON session (id) WHERE busy = 1;

-- The log. `payload` leaves out what the other columns hold.
CREATE TABLE event (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (id),
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  turn_id TEXT,
  payload TEXT    NOT NULL,
  UNIQUE (session, seq)
) STRICT;

-- One row per raising: an id raised again has a later `opened_seq`.
CREATE TABLE interrupt (
  id           INTEGER PRIMARY KEY,
  session      INTEGER NOT NULL REFERENCES session (id),
  interrupt_id TEXT    NOT NULL,
  opened_seq   INTEGER NOT NULL,
  tenant       TEXT    NOT NULL,
  open         INTEGER NOT NULL,
  opened_at    INTEGER NOT NULL,
  changed      INTEGER NOT NULL,
  row          TEXT    NOT NULL,
  UNIQUE (session, interrupt_id, opened_seq)
) STRICT;
-- list_interrupts and count_open_interrupts of open ones: does not grow with history.
CREATE INDEX interrupt_open ON interrupt (tenant, opened_at) WHERE open = 1;
-- list_interrupts of closed ones and of all.
CREATE INDEX interrupt_by_time ON interrupt (tenant, opened_at);
-- changes_since, and the counter at open.
CREATE INDEX interrupt_by_change ON interrupt (changed);

-- What each model call cost. `cost` is a decimal string, so that sums are exact.
CREATE TABLE spend (
  id      INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (id),
  seq     INTEGER NOT NULL,
  tenant  TEXT    NOT NULL,
  at      INTEGER NOT NULL,
  cost    TEXT    NOT NULL
) STRICT;
-- spend_since.
CREATE INDEX spend_by_time ON spend (tenant, at);

-- First answers of commands (D-13). In the order they were made, so that pruning reads only the old end.
CREATE TABLE receipt (
  id         INTEGER PRIMARY KEY,
  command_id TEXT    NOT NULL UNIQUE,
  at         INTEGER NOT NULL,
  body       TEXT    NOT NULL
) STRICT;

-- Attachments by the SHA-256 of their bytes.
CREATE TABLE blob (
  id         INTEGER PRIMARY KEY,
  hash       TEXT    NOT NULL UNIQUE,
  media_type TEXT    NOT NULL,
  bytes      BLOB    NOT NULL
) STRICT;

-- API keys (H-3). The key itself is never stored.
CREATE TABLE api_key (
  id         TEXT    PRIMARY KEY,
  name       TEXT    NOT NULL,
  tenant     TEXT    NOT NULL,
  hash       TEXT    NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;

-- Single values of the engine: the client token secret and the like.
CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;

-- The desktop's own: unsent text, settings, snoozed questions, answers that can still be undone.
CREATE TABLE draft (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
CREATE TABLE setting (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  value    TEXT NOT NULL
) STRICT;
CREATE TABLE snooze (
  session_id   TEXT NOT NULL,
  interrupt_id TEXT NOT NULL,
  until        INTEGER,
  PRIMARY KEY (session_id, interrupt_id)
) STRICT;
CREATE TABLE scheduled_answer (
  command_id TEXT    PRIMARY KEY,
  due_at     INTEGER NOT NULL,
  body       TEXT    NOT NULL
) STRICT;
