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
