// Ids the UI makes: command ids, and the id of a session it creates.

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 26 Crockford base32 characters: 48 bits of time, 80 random ones. */
export function ulid(now = Date.now(), random = crypto.getRandomValues(new Uint8Array(10))): string {
  let number = BigInt(now);
  for (const byte of random) number = (number << 8n) | BigInt(byte);
  let text = "";
  for (let place = 25n; place >= 0n; place--) text += crockford.charAt(Number((number >> (5n * place)) & 31n));
  return text;
}

export function newSessionId(): string {
  return `sesn_${ulid()}`;
}
