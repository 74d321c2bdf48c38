// Asks the question that the last message names; when it is answered, the model goes on.

const options = [
  { label: "Run it", value: { run: true }, style: "primary" },
  { label: "Only on staging", value: { run: "staging" } },
  { label: "Decline with reason", value: { run: false }, style: "danger", declines: true, input: { label: "Why not?", required: true } },
];

const questions = {
  options: {
    message: "Drop 3 indexes on **production**?",
    metadata: {
      risk: "high",
      tool: "execute_sql",
      arguments: { database: "production", statements: ["begin", "drop index orders_old_idx", "commit"] },
      preview: { kind: "diff", path: "db/migrate.sql", text: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n begin;\n-drop index old;\n+drop index if exists old;\n" },
      options,
    },
  },
  edit: {
    message: "Run `files__edit_file`?",
    metadata: {
      type: "tool.approval",
      tool: "files__edit_file",
      connection: "mcp.files",
      annotations: { destructiveHint: true, readOnlyHint: false },
      remaining: 1,
      risk: "high",
      arguments: { path: "docs/prices.md", edits: [{ oldText: "pump 140\nhose 12\n", newText: "pump 148\nhose 12\n" }, { oldText: "a\u202eb", newText: "<b>ab</b>" }], dryRun: false },
    },
  },
  pair: { message: "Send the summary to the team?" },
  form: {
    message: "Which account should be rotated first?",
    responseSchema: {
      type: "object",
      required: ["account", "days"],
      properties: {
        account: { type: "string", title: "Account", enum: ["ci", "deploy", "backup"] },
        days: { type: "integer", title: "Keep the old key for (days)", minimum: 0, maximum: 30, default: 7 },
        urgent: { type: "boolean", title: "Rotate at once" },
      },
    },
  },
};

export function decide({ trigger, proposed }) {
  if (trigger.type !== "client.messages") return proposed;
  const asked = /^ask (\w+)/.exec(trigger.messages.at(-1)?.content ?? "");
  const payload = asked && questions[asked[1]];
  if (!payload) return proposed;
  return { ...proposed, actions: [{ type: "interrupt", interrupt_id: `int_${asked[1]}`, reason: "confirmation", payload }] };
}
