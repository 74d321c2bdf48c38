// Addresses of places, apart from the router so that screens can link to each other without a circle of imports.

export function interruptPath(row: { session_id: string; interrupt_id: string }): string {
  return `/inbox/${encodeURIComponent(row.session_id)}/${encodeURIComponent(row.interrupt_id)}`;
}

export function sessionPath(sessionId: string, node?: string | null): string {
  const path = `/sessions/${encodeURIComponent(sessionId)}`;
  return node === undefined || node === null ? path : `${path}?node=${encodeURIComponent(node)}`;
}

/** Links that other programs open this window with. */
export function interruptLink(row: { interrupt_id: string }): string {
  return `holdpoint://interrupt/${encodeURIComponent(row.interrupt_id)}`;
}

export function sessionLink(sessionId: string, messageId: string | null): string {
  const link = `holdpoint://session/${encodeURIComponent(sessionId)}`;
  return messageId === null ? link : `${link}?node=${encodeURIComponent(messageId)}`;
}

/** The place a `holdpoint:` link names; null for one that names none. A question is found among the open ones by its id. */
export function placeOf(link: string, interrupts: Iterable<{ session_id: string; interrupt_id: string }>): string | null {
  const match = /^holdpoint:\/\/(session|interrupt)\/([^/?#]+)(?:\?node=([^&#]+))?$/.exec(link);
  if (match === null) return null;
  const [, kind, name = "", at] = match;
  const id = decoded(name);
  if (id === null) return null;
  if (kind === "session") return sessionPath(id, at === undefined ? null : decoded(at));
  for (const row of interrupts) if (row.interrupt_id === id) return interruptPath(row);
  return null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
