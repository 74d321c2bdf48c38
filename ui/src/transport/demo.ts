// Rows to look at screens with. Development only: the product build leaves this file out.

import { shownHash } from "../features/inbox/shownHash";
import type { InterruptRow, SessionRow } from "../wire";
import { aBootstrap, aPatch, aSession, anInterrupt, createFake, type FakeTransport } from "./fake";

const minutes = (ago: number): string => new Date(Date.now() - ago * 60_000).toISOString();

function ask(id: string, session: string, title: string, path: string[], ago: number, reason: string, payload: unknown, more: Partial<InterruptRow> = {}): InterruptRow {
  return anInterrupt({
    interrupt_id: id, session_id: session, root_session_id: session, session_title: title, reason, payload, opened_at: minutes(ago), anchor: "msg_2",
    path: path.map((agent, index) => ({ session_id: index === path.length - 1 ? session : `${session}_${index}`, agent_id: agent })),
    shown_hash: shownHash({ interrupt_id: id, reason, payload }), ...more,
  });
}

const diff = `--- a/db/migrate.sql
+++ b/db/migrate.sql
@@ -1,5 +1,5 @@
 begin;
-drop index concurrently orders_status_old_idx;
-drop index concurrently orders_ref_tmp_idx;
-drop index concurrently orders_legacy_no_idx;
+drop index concurrently if exists orders_status_old_idx;
 commit;
`;

const questions: InterruptRow[] = [
  ask("int_drop", "sesn_drop", "Drop unused indexes", ["dba", "migration-planner"], 12, "tool_call", {
    message: "Drop 3 indexes on production?\n\nThey have had no reads for 90 days. Writes to `orders` get about **11 %** faster. Building them again takes around 40 minutes. See [the report](https://reports.example.org/idx).",
    metadata: {
      risk: "high", tool: "postgres__execute_sql", arguments: { database: "production", statements: ["begin", "drop index …", "commit"], timeout_s: 600, note: "pay\u202eload" },
      preview: { kind: "diff", text: diff, path: "db/migrate.sql" },
      options: [
        { label: "Run it", value: { approved: true }, style: "primary" },
        { label: "Only on staging", value: { approved: "staging" } },
        { label: "Decline with reason", value: { approved: false }, style: "danger", input: { label: "Why not?", required: true } },
      ],
    },
  }),
  ask("int_refund", "sesn_refund", "Refund order 88123", ["support"], 9, "confirmation", {
    message: "Refund $148.00 to order 88123?", expiresAt: minutes(-51),
    metadata: { risk: "medium", options: [{ label: "Refund", value: 1, style: "primary" }, { label: "Offer a coupon", value: 2 }, { label: "Decline", value: 3, style: "danger" }] },
  }),
  ask("int_rotate", "sesn_rotate", "Rotate staging keys", ["ops"], 8, "input_required", {
    message: "Which staging account should I rotate first?",
    responseSchema: {
      type: "object", required: ["account", "days"],
      properties: {
        account: { type: "string", title: "Account", enum: ["ci", "deploy", "backup"] },
        days: { type: "integer", title: "Keep the old key for (days)", minimum: 0, maximum: 30, default: 7 },
        notify: { type: "array", title: "Tell", items: { type: "string", enum: ["ops", "security", "everyone"] }, uniqueItems: true },
        urgent: { type: "boolean", title: "Rotate at once" },
        address: { type: "object", title: "Contact", properties: { email: { type: "string", format: "email", title: "E-mail" } } },
        hosts: { type: "array", title: "Hosts", items: { type: "string" } },
      },
    },
    metadata: { risk: "medium" },
  }),
  ask("int_send", "sesn_launch", "Launch notes", ["writer"], 4, "confirmation", { message: "Send the summary to #launch?", metadata: { preview: { kind: "markdown", text: "## Launch\n\n- Pages are live\n- **Docs** follow tomorrow\n\n| region | state |\n|---|---|\n| eu | live |\n| us | tomorrow |" } } }),
  ask("int_window", "sesn_track", "Order 90111", ["support", "tracker"], 3, "input_required", { message: "Carrier asks for a delivery window" }, { on_active_branch: false }),
  ask("int_write", "sesn_docs", "Update pricing page", ["docs"], 1, "tool_call", { message: "Run `make publish` in docs?", metadata: { risk: "medium", preview: { kind: "command", command: ["make", "publish", "TARGET=a b"], cwd: "/srv/docs" } } }),
  ask("int_budget", "sesn_scan", "Market scan", ["research"], 0, "budget_exhausted", { metadata: { spent: "0.50", limit: "0.50" } }),
];

const closed: InterruptRow[] = [
  ask("int_old1", "sesn_refund", "Refund order 88121", ["support"], 90, "confirmation", { message: "Refund $12.00 to order 88121?" }, {
    closed_at: minutes(86), outcome: "answered", responder: { channel: "desktop", user: "ada", label: "Refund", style: "primary" }, answer: { status: "resolved", payload: 1 }, verification: "verified",
  }),
  ask("int_old2", "sesn_docs", "Update pricing page", ["docs"], 200, "tool_call", { message: "Delete the old pricing page?" }, {
    closed_at: minutes(140), outcome: "declined", responder: { channel: "slack", user: "grace", label: "Decline", style: "danger", text: "legal still links to it" }, answer: { status: "resolved", payload: { approved: false } }, verification: "verified",
  }),
  ask("int_old3", "sesn_scan", "Market scan", ["research"], 300, "input_required", { message: "Which markets?" }, { closed_at: minutes(298), outcome: "answered", responder: { channel: "cli" }, answer: ["eu", "us"], verification: "verified" }),
  ask("int_old4", "sesn_scan", "Market scan", ["research"], 310, "input_required", { message: "How deep should I look?" }, { closed_at: minutes(305), outcome: "cancelled", responder: { channel: "desktop", user: "ada" }, answer: { status: "cancelled" } }),
];

function session(id: string, title: string, agent: string, ago: number, more: Partial<SessionRow> = {}): SessionRow {
  return aSession({ session_id: id, title, agent_id: agent, last_event_at: minutes(ago), first_event_at: minutes(ago + 30), usage: { input_tokens: 8204, cached_input_tokens: 0, output_tokens: 900, cost_usd: "0.0312" }, ...more });
}

const waiting = { activity: "waiting_for_you", status: "interrupted", open_interrupts: 1, pausing_interrupts: 1 } as const;

const sessions: SessionRow[] = [
  session("sesn_drop", "Drop unused indexes", "dba", 12, { ...waiting, scripted: false, model: "gpt-5-mini" }),
  session("sesn_refund", "Refund order 88123", "support", 9, { ...waiting, branches: 3 }),
  session("sesn_rotate", "Rotate staging keys", "ops", 8, waiting),
  session("sesn_launch", "Launch notes", "writer", 4, waiting),
  session("sesn_docs", "Update pricing page", "docs", 1, waiting),
  session("sesn_scan", "Market scan", "research", 0, waiting),
  session("sesn_track", "Order 90111", "support", 3, { activity: "idle", open_interrupts: 1, branches: 2 }),
  session("sesn_digest", "Weekly digest", "writer", 0, { activity: "running" }),
  session("sesn_triage", "Triage new issues", "triage", 2, { activity: "waiting_for_tool", queued_turns: 1 }),
  session("sesn_queue", "Translate the handbook", "writer", 5, { activity: "queued", queued_turns: 1 }),
  session("sesn_fail", "Import the price list", "docs", 50, { activity: "failed" }),
  session("sesn_stop", "Crawl the archive", "research", 70, { activity: "cancelled" }),
  session("sesn_done", "Answer the survey", "support", 400, { status: "idle" }),
];

export function demoTransport(): FakeTransport {
  const query = new URLSearchParams(location.search);
  const fake = createFake({
    sessions,
    interrupts: query.has("empty") ? [] : [...questions, ...closed],
    bootstrap: aBootstrap({
      engine: { state: query.has("broken") ? "paused" : "running", problem: query.has("broken") ? "The disk is full (12 KiB free on /home). Free some space; the engine goes on by itself." : null, address: "http://127.0.0.1:8080", spend_today_usd: "4.12", running_sessions: 2, last_answered_at: minutes(86) },
      settings: { theme: query.get("theme") ?? "system" },
      config_error: query.has("broken") ? "holdpoint.toml:14: unknown key `modle` in [[agents]]; did you mean `model`?" : null,
      sample_session_id: query.has("first") ? "sesn_refund" : null,
      sample_folder: query.has("first") ? "/home/ada/.local/share/holdpoint/sample" : null,
      agents: [
        { agent_id: "support", description: "Answers customers and asks before it pays.", model: "scripted/demo", scripted: true, llm: "demo", worker: "workers/support.mjs", problem: null },
        { agent_id: "dba", description: null, model: "gpt-5-mini", scripted: false, llm: "openai", worker: null, problem: "The environment variable OPENAI_API_KEY is not set." },
        { agent_id: "docs", description: "Keeps the handbook true.", model: null, scripted: false, llm: null, worker: "workers/docs.mjs", problem: "workers/docs.mjs does not load: SyntaxError: expecting ';'\n    at workers/docs.mjs:12:8\n    at <eval> (workers/docs.mjs)" },
      ],
    }),
    patches: { sesn_refund: aPatch({ session: sessions[1] ?? aSession() }) },
  });
  fake.notificationTest = async () => ({ service: "dunst", problem: null });
  fake.notificationStatus = async () => ({ service: null, problem: query.has("broken") ? "No notification service runs in this desktop session. Start one (for example dunst) and send a test from Settings." : null });
  fake.openExternal = async () => undefined;
  return fake;
}
