// One question with everything needed to answer it well. The same card stands in the inbox and inside a transcript.

import type { InterruptRow } from "../../wire";

export interface InterruptCardProps {
  row: InterruptRow;
  context: "inbox" | "transcript";
}

export function InterruptCard({ row }: InterruptCardProps) {
  return <article aria-label={row.reason} />;
}
