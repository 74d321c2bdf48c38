/** The line that says, before it is sent, what an edit does to the tree. */
import type { Forecast, InterruptRow } from "../../wire";
import { isOnPath, num, type TreeIndex } from "../tree/treeIndex";

export interface EditOf {
  readonly index: TreeIndex;
  readonly messageId: string;
  readonly headId: string | null;
  readonly interrupts: readonly InterruptRow[];
  /** Null while it is asked for. */
  readonly forecast: Forecast | null;
}

export function editConsequence({ index, messageId, headId, interrupts, forecast }: EditOf): string {
  const at = index.at.get(messageId) ?? -1;
  const staying = headId !== null && isOnPath(index, messageId, headId) ? headId : messageId;
  const branch = num(index.branch, index.at.get(staying) ?? -1);
  const closing = forecast?.interrupts.length ?? 0;
  const open = interrupts.filter((row) => row.anchor !== null && isOnPath(index, messageId, row.anchor)).length - closing;
  const stays = open <= 0 ? `Branch ${branch} stays.` : `Branch ${branch} and its ${open === 1 ? "open pause" : `${open} open pauses`} stay.`;
  const ends = forecast === null ? [] : endsNow(forecast);
  const stops = ends.length === 0 ? "" : ` Ends now: ${ends.join(", ")}.`;
  return `Makes a new branch at message ${num(index.depth, at)}. ${stays}${stops}`;
}

/** What a forecast lists, each thing by name. */
export function endsNow(forecast: Forecast): string[] {
  return [
    ...forecast.model_calls.map((name) => `model call ${name}`),
    ...forecast.tool_calls.map((name) => `tool ${name}`),
    ...forecast.subagents.map((name) => `sub-agent ${name}`),
    ...forecast.queued_turns.map((text) => `queued message “${text}”`),
    ...forecast.interrupts.map((text) => `question “${text}”`),
    ...(forecast.decisions > 0 ? [forecast.decisions === 1 ? "1 worker decision" : `${forecast.decisions} worker decisions`] : []),
  ];
}
