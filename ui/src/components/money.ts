/** `$4.12`, `$0.0031`: two decimals from a cent up, else as many as show two digits that matter. */
export function usd(text: string): string {
  const amount = Number(text);
  if (!Number.isFinite(amount)) return `$${text}`;
  if (amount === 0 || amount >= 0.1) return `$${amount.toFixed(2)}`;
  return `$${Number(amount.toPrecision(2))}`;
}

export function count(number: number): string {
  return number.toLocaleString("en-US");
}

/** Of decimal texts, exact to the picodollar; what is no amount counts nothing. */
export function sumUsd(amounts: readonly string[]): string {
  const total = amounts.reduce((sum, text) => sum + picos(text), 0n);
  return `${total / pico}.${String(total % pico).padStart(12, "0")}`;
}

const pico = 10n ** 12n;

function picos(text: string): bigint {
  const match = /^(\d+)(?:\.(\d+))?$/.exec(text);
  return match === null ? 0n : BigInt(match[1] ?? "0") * pico + BigInt((match[2] ?? "").slice(0, 12).padEnd(12, "0"));
}
