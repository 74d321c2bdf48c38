// The hash that binds an answer to what was on screen: SHA-256 over the RFC 8785 form of what this window rendered.
// Written out here because it has to be there before a click returns, and on pages where the browser's own is not offered.

/** I-88. */
export function shownHash(shown: { interrupt_id: string; reason: string; payload: unknown }): string {
  const { interrupt_id, reason, payload } = shown;
  return sha256(canonical({ interrupt_id, reason, payload: payload ?? null }));
}

/** RFC 8785: members sorted by UTF-16 units, numbers and strings as ECMAScript writes them, no space. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
      .map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value) ?? "null";
}

const rounds = constants();

/** FIPS 180-4, lowercase hex, of the text's UTF-8. */
export function sha256(text: string): string {
  const blocks = padded(new TextEncoder().encode(text));
  const hash = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
  const w = new Int32Array(64);
  for (let at = 0; at < blocks.byteLength; at += 64) {
    for (let i = 0; i < 16; i++) w[i] = blocks.getInt32(at + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = word(w, i - 15);
      const b = word(w, i - 2);
      w[i] = word(w, i - 16) + (turn(a, 7) ^ turn(a, 18) ^ (a >>> 3)) + word(w, i - 7) + (turn(b, 17) ^ turn(b, 19) ^ (b >>> 10));
    }
    mix(hash, w);
  }
  return hash.map((part) => (part >>> 0).toString(16).padStart(8, "0")).join("");
}

function mix(hash: number[], w: Int32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let i = 0; i < 64; i++) {
    const one = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + word(rounds, i) + word(w, i)) | 0;
    const two = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((part, i) => {
    hash[i] = ((hash[i] ?? 0) + part) | 0;
  });
}

function padded(bytes: Uint8Array): DataView {
  const view = new DataView(new ArrayBuffer(((bytes.length + 8) >> 6) * 64 + 64));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setBigUint64(view.byteLength - 8, BigInt(bytes.length) * 8n);
  return view;
}

/** First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
function constants(): Int32Array {
  const found: number[] = [];
  for (let n = 2; found.length < 64; n++) {
    let prime = true;
    for (let d = 2; d * d <= n; d++) prime &&= n % d !== 0;
    if (prime) found.push(Math.floor((Math.cbrt(n) % 1) * 2 ** 32));
  }
  return Int32Array.from(found, (value) => value | 0);
}

function turn(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}

function word(of: Int32Array, i: number): number {
  return of[i] ?? 0;
}
