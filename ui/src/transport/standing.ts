// Where a reader of the feed stands, so that a lost line is taken up where it broke.

import type { FeedFrom, Frame } from "../wire";

export function standing(from: FeedFrom, frame: Frame): FeedFrom {
  if (frame.type === "lists") return { ...from, after: frame.counter };
  if (frame.type === "session" && frame.patch.session.session_id === from.session_id) return { ...from, after_seq: frame.patch.session.seq };
  return from;
}
