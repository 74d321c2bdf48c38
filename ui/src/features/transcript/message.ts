/** A recorded message (P-18) as the transcript reads it. Bodies come from models and tools: every field may be anything. */

export interface ToolRequest {
  readonly id: string;
  readonly name: string;
  /** As the model wrote them; not always JSON. */
  readonly arguments: string;
}

export interface ReadMessage {
  readonly text: string;
  readonly toolRequests: readonly ToolRequest[];
  /** Parts that are no text, shown as data. */
  readonly otherParts: readonly unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const text = (value: unknown): string => (typeof value === "string" ? value : "");

export function readMessage(message: unknown): ReadMessage {
  const { content, tool_calls: calls } = fields(message);
  const parts: readonly unknown[] = Array.isArray(content) ? content : [];
  const isText = (part: unknown): boolean => fields(part).type === "text";
  return {
    text: typeof content === "string" ? content : parts.filter(isText).map((part) => text(fields(part).text)).join(""),
    otherParts: parts.filter((part) => !isText(part)),
    toolRequests: (Array.isArray(calls) ? calls : []).map(readRequest),
  };
}

function readRequest(call: unknown): ToolRequest {
  const asked = fields(fields(call).function);
  return { id: text(fields(call).id), name: text(asked.name), arguments: text(asked.arguments) };
}

/** JSON text as data; anything else stays the text it is. */
export function parsedOrText(raw: string): unknown {
  try {
    return JSON.parse(raw) as unknown;
  } catch {
    return raw;
  }
}

/** Arguments on one line: `{"no": 88123}`. */
export function oneLine(raw: string): string {
  return raw.replace(/\s+/g, " ").trim();
}
