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
  tool: Tool | null;
  /** An address the requester asks to visit (an elicitation by URL). */
  url: string | null;
  /** A connection's server asks, during a call (M-33). */
  server: { connection: string; mode: "form" | "url"; wantsSecret: boolean } | null;
  /** The connection a person is to authorize (M-23). */
  authorize: string | null;
  /** What none of the above shows, so that nothing of the question stays hidden. */
  rest: unknown;
}

export interface Tool {
  name: string;
  arguments: unknown;
  /** Connection it belongs to. */
  server: string | null;
  /** What its server says of it, in words; null when the question does not tell. */
  hints: string[] | null;
  /** How many more calls of the same message are asked about after this one. */
  behind: number;
}

const defaultPair: Option[] = [
  { label: "Approve", value: { approved: true }, style: "primary", input: null, standard: true },
  { label: "Decline", value: { approved: false }, style: "danger", input: null, standard: true },
];

/** M-34. */
const visitPair: Option[] = [
  { label: "Continue", value: { action: "accept" }, style: "primary", input: null, standard: true },
  { label: "Decline", value: { action: "decline" }, style: "danger", input: null, standard: true },
];

export function readQuestion(payload: unknown): Question {
  const top = record(payload);
  const metadata = record(top?.metadata);
  const offeredOptions = readOptions(metadata?.options);
  const tool = readTool(metadata);
  const message = withoutArguments(text(top?.message), metadata, tool);
  const schema = offeredOptions === null ? record(top?.responseSchema) : null;
  const server = offeredOptions === null ? readServer(metadata, schema) : null;
  const pair = server?.mode === "url" ? visitPair : defaultPair;
  const options = offeredOptions ?? (message !== null && schema === null ? pair : []);
  return {
    message,
    options,
    offered: offeredOptions !== null,
    schema,
    risk: readRisk(metadata?.risk),
    expiresAt: text(top?.expiresAt),
    preview: metadata !== null && metadata.preview !== undefined ? readPreview(metadata.preview) : null,
    tool,
    url: text(metadata?.url),
    server,
    authorize: readAuthorize(top),
    rest: rest(payload, top, metadata),
  };
}

function readAuthorize(top: Record<string, unknown> | null): string | null {
  const asked = record(top?.authorize);
  return asked !== null && Object.keys(asked).every((name) => name === "connection" || name === "principal") ? text(asked.connection) : null;
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
export function commandLine(given: unknown): string | null {
  if (typeof given === "string") return given;
  if (!Array.isArray(given) || !given.every((part) => typeof part === "string")) return null;
  return given.map((part) => (/^[\w@%+=:,./-]+$/.test(part) ? part : `'${part.replaceAll("'", `'\\''`)}'`)).join(" ");
}

function readServer(metadata: Record<string, unknown> | null, schema: Record<string, unknown> | null): Question["server"] {
  const mode = metadata?.mode;
  if (metadata?.type !== "mcp.elicitation" || (mode !== "form" && mode !== "url")) return null;
  return { connection: text(metadata.connection) ?? "a connection", mode, wantsSecret: mode === "form" && wantsSecret(schema) };
}

/** A form must not ask for these; people may not know. */
function wantsSecret(schema: Record<string, unknown> | null): boolean {
  const fields = Object.entries(record(schema?.properties) ?? {});
  return fields.some(([name, field]) => /passw|secret|token|api.?key|credential|\bpin\b/i.test(`${name} ${text(record(field)?.title) ?? ""}`));
}

function readTool(metadata: Record<string, unknown> | null): Tool | null {
  const name = text(metadata?.tool);
  if (name === null || metadata === null) return null;
  const approval = isApproval(metadata);
  return {
    name,
    arguments: parsed(metadata.arguments),
    server: approval ? text(metadata.connection) : null,
    hints: approval ? readHints(metadata.annotations) : null,
    behind: approval && typeof metadata.remaining === "number" ? metadata.remaining : 0,
  };
}

/** The engine's own question before a call (M-13). */
function isApproval(metadata: Record<string, unknown> | null): boolean {
  return metadata?.type === "tool.approval";
}

const hintWords: Record<string, [string, string]> = {
  destructiveHint: ["destructive", "not destructive"],
  readOnlyHint: ["read-only", "not read-only"],
  idempotentHint: ["harmless to repeat", "not harmless to repeat"],
  openWorldHint: ["reaches outside", "stays inside"],
};

function readHints(given: unknown): string[] | null {
  const hints = record(given);
  if (hints === null) return null;
  return Object.entries(hintWords).flatMap(([name, [yes, no]]) => (hints[name] === true ? [yes] : hints[name] === false ? [no] : []));
}

/** The engine's message ends with the arguments as a code block. The card draws them itself, so the block is left off, but only where it says exactly the same. */
function withoutArguments(message: string | null, metadata: Record<string, unknown> | null, tool: Tool | null): string | null {
  if (message === null || tool === null || !isApproval(metadata)) return message;
  const block = /^([\s\S]+?)\n\n(`{3,})json\n([\s\S]*)\n\2$/.exec(message);
  return block?.[1] !== undefined && block[3] === JSON.stringify(tool.arguments, null, 2) ? block[1] : message;
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

const shownOfServer = new Set([...shownMetadata, "connection", "mode", "host"]);

function shownOf(metadata: Record<string, unknown>): ReadonlySet<string> {
  if (isApproval(metadata)) return shownOfApproval(metadata);
  return metadata.options === undefined && readServer(metadata, null) !== null ? shownOfServer : shownMetadata;
}

function rest(payload: unknown, top: Record<string, unknown> | null, metadata: Record<string, unknown> | null): unknown {
  if (top === null) return payload ?? undefined;
  const left: Record<string, unknown> = without(top, readAuthorize(top) === null ? shownTop : new Set([...shownTop, "authorize"]));
  if (metadata !== null) {
    const other = without(metadata, shownOf(metadata));
    if (Object.keys(other).length > 0) left.metadata = other;
  } else if (top.metadata !== undefined && top.metadata !== null) {
    left.metadata = top.metadata;
  }
  return Object.keys(left).length === 0 ? undefined : left;
}

/** Only what has its known shape is shown as what it is. */
function shownOfApproval(metadata: Record<string, unknown>): ReadonlySet<string> {
  const shown = new Set(shownMetadata);
  if (text(metadata.connection) !== null) shown.add("connection");
  if (typeof metadata.remaining === "number") shown.add("remaining");
  const hints = record(metadata.annotations);
  if (hints !== null && Object.entries(hints).every(([name, value]) => name in hintWords && typeof value === "boolean")) shown.add("annotations");
  return shown;
}

function without(of: Record<string, unknown>, names: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(of).filter(([name]) => !names.has(name)));
}

export function record(given: unknown): Record<string, unknown> | null {
  return typeof given === "object" && given !== null && !Array.isArray(given) ? (given as Record<string, unknown>) : null;
}

function text(given: unknown): string | null {
  return typeof given === "string" && given.trim() !== "" ? given : null;
}
