// Server-sent events from a byte stream: the data of each event, in order.

const blankLine = /\r\n\r\n|\n\n|\r\r/;
/** The most of a blank line that can stand before the end of a chunk. */
const overlap = 3;

export async function* sseData(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  // An event of a long session comes in hundreds of chunks: each is looked at once, and they are joined when the event is whole.
  let chunks: string[] = [];
  let seam = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const chunk = decoder.decode(value, { stream: true });
      chunks.push(chunk);
      const scanned = seam + chunk;
      seam = scanned.slice(-overlap);
      if (!blankLine.test(scanned)) continue;
      const events = chunks.join("").split(blankLine);
      const rest = events.pop() ?? "";
      chunks = [rest];
      seam = rest.slice(-overlap);
      for (const event of events) {
        const data = dataOf(event);
        if (data !== null) yield data;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function dataOf(event: string): string | null {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line === "data" || line.startsWith("data:"));
  return lines.length === 0 ? null : lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
}
