// Addresses of places, apart from the router so that screens can link to each other without a circle of imports.

export function interruptPath(row: { session_id: string; interrupt_id: string }): string {
  return `/inbox/${encodeURIComponent(row.session_id)}/${encodeURIComponent(row.interrupt_id)}`;
}

export function sessionPath(sessionId: string, node?: string | null): string {
  const path = `/sessions/${encodeURIComponent(sessionId)}`;
  return node === undefined || node === null ? path : `${path}?node=${encodeURIComponent(node)}`;
}
