// A labelled text box that grows with its text.

import { useId, type ComponentProps, type ReactNode } from "react";
import css from "./Field.module.css";

export interface TextBoxProps extends Omit<ComponentProps<"textarea">, "className"> {
  label: string;
  /** Shown to readers of the screen only: the place makes it plain to the eye. */
  hideLabel?: boolean;
  hint?: ReactNode;
  problem?: string | null;
  mono?: boolean;
}

export function TextBox({ label, hideLabel = false, hint, problem, mono = false, id, ...rest }: TextBoxProps) {
  const made = useId();
  const own = id ?? made;
  return (
    <div className={css.field}>
      <label htmlFor={own} className={hideLabel ? "visually-hidden" : css.label}>
        {label}
      </label>
      <textarea
        id={own}
        rows={1}
        className={css.box}
        data-mono={mono}
        aria-invalid={problem !== undefined && problem !== null}
        aria-describedby={`${own}-hint`}
        {...rest}
      />
      <div id={`${own}-hint`} className={css.hint}>
        {problem !== undefined && problem !== null ? <span className={css.problem}>{problem}</span> : hint}
      </div>
    </div>
  );
}

export function Select({ label, hideLabel = false, children, ...rest }: Omit<ComponentProps<"select">, "className"> & { label: string; hideLabel?: boolean }) {
  const id = useId();
  return (
    <span className={css.select}>
      <label htmlFor={id} className={hideLabel ? "visually-hidden" : css.label}>
        {label}
      </label>
      <select id={id} {...rest}>
        {children}
      </select>
    </span>
  );
}
