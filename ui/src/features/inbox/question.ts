// An interrupt's payload, read once. It is untrusted: whatever does not have its known shape is shown as JSON and obeyed as nothing.

export interface Option {
  label: string;
  value: unknown;
  style: string | null;
  input: { label: string; required: boolean } | null;
  /** One of the default pair, which the requester did not offer but every surface shows. */
  standard: boolean;
}

export type Risk = "low" | "medium" | "high";

export type Preview =
  | { kind: "diff"; text: string; path: string | null }
  | { kind: "markdown"; text: string }
  | { kind: "json"; value: unknown }
  | { kind: "command"; command: string; cwd: string | null };

export interface Question {
  /** Markdown; null when the requester wrote none. */
  message: string | null;
  /** Offered ones, else the default pair, else none. */
  options: Option[];
  /** The options are the requester's own: an answer is one of them. */
  offered: boolean;
  /** A form, when there are no options. */
  schema: Record<string, unknown> | null;
  risk: Risk | null;
  expiresAt: string | null;
  preview: Preview | null;
  /** The tool that would run and what it would get. */
  tool: { name: string; arguments: unknown } | null;
  /** An address the requester asks to visit (an elicitation by URL). */
  url: string | null;
  /** What none of the above shows, so that nothing of the question stays hidden. */
  rest: unknown;
}

const defaultPair: Option[] = [
  { label: "Approve", value: { approved: true }, style: "primary", input: null, standard: true },
  { label: "Decline", value: { approved: false }, style: "danger", input: null, standard: true },
];

export function readQuestion(payload: unknown): Question {
  const top = record(payload);
  const metadata = record(top?.metadata);
  const offeredOptions = readOptions(metadata?.options);
  const message = text(top?.message);
  const schema = offeredOptions === null ? record(top?.responseSchema) : null;
  const options = offeredOptions ?? (message !== null && schema === null ? defaultPair : []);
  return {
    message,
    options,
    offered: offeredOptions !== null,
    schema,
    risk: readRisk(metadata?.risk),
    expiresAt: text(top?.expiresAt),
    preview: metadata !== null && metadata.preview !== undefined ? readPreview(metadata.preview) : null,
    tool: readTool(metadata),
    url: text(metadata?.url),
    rest: rest(payload, top, metadata),
  };
}

/** What a list shows of the question: its first line, else what paused. */
export function headline(row: { payload: unknown; reason: string }): string {
  const message = text(record(row.payload)?.message);
  const first = message
    ?.split("\n")
    .map((line) => plainLine(line))
    .find((line) => line !== "");
  return first ?? `Paused: ${row.reason}`;
}

export function riskOf(payload: unknown): Risk | null {
  return readRisk(record(record(payload)?.metadata)?.risk);
}

export function expiryOf(payload: unknown): string | null {
  return text(record(payload)?.expiresAt);
}

/** Markdown's signs taken off, for places that show one plain line. */
function plainLine(line: string): string {
  return line
    .replace(/^\s*(#{1,6}|>|[-*+]|\d+\.)\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/(\*\*|__|`)(.+?)\1/g, "$2")
    .trim();
}

function readOptions(given: unknown): Option[] | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  return given.map((each: unknown, index): Option => {
    const option = record(each);
    const input = record(option?.input);
    return {
      label: text(option?.label) ?? `Option ${index + 1}`,
      value: option?.value ?? null,
      style: text(option?.style),
      input: input === null ? null : { label: text(input.label) ?? "Text", required: input.required === true },
      standard: false,
    };
  });
}

function readRisk(given: unknown): Risk | null {
  return given === "low" || given === "medium" || given === "high" ? given : null;
}

function readPreview(given: unknown): Preview {
  const preview = record(given);
  if (preview?.kind === "diff" && typeof preview.text === "string") return { kind: "diff", text: preview.text, path: text(preview.path) };
  if (preview?.kind === "markdown" && typeof preview.text === "string") return { kind: "markdown", text: preview.text };
  if (preview?.kind === "json" && "value" in preview) return { kind: "json", value: preview.value };
  if (preview?.kind === "command") {
    const command = commandLine(preview.command);
    if (command !== null) return { kind: "command", command, cwd: text(preview.cwd) };
  }
  return { kind: "json", value: given };
}

/** A list is quoted so that its arguments' edges can be seen. */
function commandLine(given: unknown): string | null {
  if (typeof given === "string") return given;
  if (!Array.isArray(given) || !given.every((part) => typeof part === "string")) return null;
  return given.map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", `'\\''`)}'`)).join(" ");
}

function readTool(metadata: Record<string, unknown> | null): Question["tool"] {
  const name = text(metadata?.tool);
  return name === null ? null : { name, arguments: parsed(metadata?.arguments) };
}

/** Arguments may come as the raw string the model wrote. */
function parsed(given: unknown): unknown {
  if (typeof given !== "string") return given ?? {};
  try {
    return JSON.parse(given) as unknown;
  } catch {
    return given;
  }
}

const shownTop = new Set(["message", "metadata", "responseSchema", "expiresAt", "toolCallId"]);
const shownMetadata = new Set(["options", "risk", "preview", "tool", "arguments", "url", "type"]);

function rest(payload: unknown, top: Record<string, unknown> | null, metadata: Record<string, unknown> | null): unknown {
  if (top === null) return payload ?? undefined;
  const left: Record<string, unknown> = without(top, shownTop);
  if (metadata !== null) {
    const other = without(metadata, shownMetadata);
    if (Object.keys(other).length > 0) left.metadata = other;
  } else if (top.metadata !== undefined && top.metadata !== null) {
    left.metadata = top.metadata;
  }
  return Object.keys(left).length === 0 ? undefined : left;
}

function without(of: Record<string, unknown>, names: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of).filter(([name]) => !names.has(name)));
}

function record(given: unknown): Record<string, unknown> | null {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : null;
}

function text(given: unknown): string | null {
  return typeof given === "string" && given.trim() !== "" ? given : null;
}
