// Characters that hide or reorder text, found so that a screen can draw them as what they are.

export interface Piece {
  text: string;
  /** Set for a character that cannot be seen: its code, `U+202E`. */
  code?: string;
  name?: string;
}

const named: Record<number, string> = {
  0x00ad: "soft hyphen", 0x034f: "grapheme joiner", 0x061c: "arabic letter mark", 0x115f: "hangul filler", 0x1160: "hangul filler",
  0x17b4: "khmer vowel", 0x17b5: "khmer vowel", 0x180e: "vowel separator", 0x200b: "zero-width space", 0x200c: "zero-width non-joiner",
  0x200d: "zero-width joiner", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark", 0x202a: "left-to-right embedding",
  0x202b: "right-to-left embedding", 0x202c: "end of embedding", 0x202d: "left-to-right override", 0x202e: "right-to-left override",
  0x2028: "line separator", 0x2029: "paragraph separator", 0x2060: "word joiner", 0x2061: "function application", 0x2062: "invisible times",
  0x2063: "invisible separator", 0x2064: "invisible plus", 0x2066: "left-to-right isolate", 0x2067: "right-to-left isolate",
  0x2068: "first strong isolate", 0x2069: "end of isolate", 0x3164: "hangul filler", 0xfeff: "byte order mark", 0xffa0: "hangul filler",
};

// Controls except tab and line feed, format characters, fillers, variation selectors and the tag block.
// oxlint-disable-next-line no-control-regex, no-misleading-character-class
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;

/** The text in pieces; joined, the pieces are the text. Emoji keep their joiners and selectors: they draw as one sign. */
export function pieces(text: string): Piece[] {
  const found: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(hidden)) {
    const at = match.index;
    const character = match[0];
    if (partOfEmoji(text, at, character) || (character === "\r" && text[at + 1] === "\n")) continue;
    if (at > from) found.push({ text: text.slice(from, at) });
    found.push({ text: character, ...describe(character) });
    from = at + character.length;
  }
  if (from < text.length) found.push({ text: text.slice(from) });
  return found;
}

export function hasHidden(text: string): boolean {
  return pieces(text).some((piece) => piece.code !== undefined);
}

function describe(character: string): { code: string; name: string } {
  const point = character.codePointAt(0) ?? 0;
  const name = named[point] ?? (point < 0xa0 ? "control character" : point >= 0xe0000 ? "tag character" : "invisible character");
  return { code: `U+${point.toString(16).toUpperCase().padStart(4, "0")}`, name };
}

function partOfEmoji(text: string, at: number, character: string): boolean {
  if (character !== "\u200d" && character !== "\ufe0f") return false;
  const before = text.slice(0, at).match(/(\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f|[0-9#*])$/u);
  if (before === null) return false;
  return character === "\ufe0f" || /^\p{Extended_Pictographic}/u.test(text.slice(at + 1));
}
