// The sample's worker. Holdpoint calls decide() at each step with what happened (trigger) and what it would do itself (proposed).

const sendLetter = {
  name: "send_letter",
  description: "Sends the newsletter to every reader",
  input: {
    type: "object",
    properties: { subject: { type: "string" }, readers: { type: "integer" }, body: { type: "string" } },
    required: ["subject", "readers", "body"],
  },
};

export function decide({ trigger, proposed }) {
  // The session begins: give the agent its tool.
  if (trigger.type === "session.start") {
    return { ...proposed, agent: { ...proposed.agent, tools: [sendLetter] } };
  }
  // The model wants to send: stop here until a person has decided. The call stays open, however long that takes.
  if (trigger.type === "tool.execute" && trigger.name === "send_letter") {
    return { actions: [ask(trigger.input.value)] };
  }
  // The person has decided: end the call with what came of it.
  if (trigger.type === "interrupt.resumed") {
    return { actions: [outcome(trigger.payload)] };
  }
  return proposed;
}

function ask(letter) {
  return {
    type: "interrupt",
    reason: "tool_call",
    payload: {
      message: `Send **${letter.subject}** to ${letter.readers} readers? It cannot be taken back.`,
      metadata: {
        risk: "high",
        preview: { kind: "markdown", text: letter.body },
        options: [
          { label: "Send", value: { decision: "send" }, style: "primary" },
          { label: "Don't send", value: { decision: "keep" }, declines: true },
          { label: "Send with a note", value: { decision: "send" }, input: { label: "Note above the letter", required: true } },
        ],
      },
    },
  };
}

function outcome(answer) {
  if (answer?.payload?.decision !== "send") {
    return { type: "tool.error", error: "The person decided not to send it." };
  }
  const note = answer.responder?.text;
  const text = note ? `Sent (scripted) with the note: ${note}` : "Sent (scripted).";
  return { type: "tool.result", result: { content: [{ type: "text", text }] } };
}
