// Finding by a few letters: words that start so come first, then letters in order.

export function rank<T>(items: readonly T[], query: string, text: (item: T) => string): T[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [...items];
  return items
    .map((item, index) => ({ item, index, score: score(text(item).toLowerCase(), wanted) }))
    .filter((each) => each.score > 0)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .map((each) => each.item);
}

function score(text: string, wanted: string): number {
  if (text.startsWith(wanted)) return 4;
  if (wanted.split(/\s+/).every((word) => text.split(/[^\p{L}\p{N}]+/u).some((part) => part.startsWith(word)))) return 3;
  if (text.includes(wanted)) return 2;
  let at = 0;
  for (const letter of text) if (letter === wanted[at]) at++;
  return at === wanted.length && wanted.length > 2 ? 1 : 0;
}
