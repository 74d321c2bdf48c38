// A question's first line as the card's heading, the rest as its text.

export interface SplitMessage {
  title: string;
  body: string;
}

const block = /^\s*(```|~~~|\||[-*+]\s|\d+[.)]\s|>| {4}|\t|<)/;

/** Null when the first line belongs to a list, table, quote or code: then the message stands as one text. */
export function splitMessage(message: string): SplitMessage | null {
  const text = message.replace(/^\s*\n/, "");
  const end = text.indexOf("\n");
  const first = (end < 0 ? text : text.slice(0, end)).trim();
  const rest = end < 0 ? "" : text.slice(end + 1);
  if (first === "" || first.length > 160 || block.test(text) || /^\s*(=+|-{2,})\s*(\n|$)/.test(rest)) return null;
  return { title: first.replace(/^#{1,6}\s+/, "").replace(/\s#+$/, ""), body: rest.trim() };
}
