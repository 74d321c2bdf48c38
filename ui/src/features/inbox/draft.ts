// What a person has begun to answer, kept per interrupt until it was sent.

export interface CardDraft {
  /** Of the open option's box, or of the free box. */
  text: string;
  /** The option whose box is open. */
  option: number | null;
  /** The form's value. */
  form: unknown;
  /** Switch and answer is on. */
  switch: boolean;
  /** Command that carries the text, once scheduled. */
  sent: string | null;
}

const emptyDraft: CardDraft = { text: "", option: null, form: undefined, switch: false, sent: null };

export function draftKey(row: { session_id: string; interrupt_id: string }): string {
  return `interrupt:${row.session_id}:${row.interrupt_id}`;
}

/** A saved draft, whatever version wrote it. */
export function readDraft(saved: unknown): CardDraft {
  if (typeof saved !== "object" || saved === null) return emptyDraft;
  const known = saved as Partial<Record<keyof CardDraft, unknown>>;
  return {
    text: typeof known.text === "string" ? known.text : "",
    option: typeof known.option === "number" ? known.option : null,
    form: known.form,
    switch: known.switch === true,
    sent: typeof known.sent === "string" ? known.sent : null,
  };
}

export function isEmpty(draft: CardDraft): boolean {
  return draft.text === "" && draft.option === null && draft.form === undefined && !draft.switch;
}
