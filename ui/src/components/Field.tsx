// A labelled text box that grows with its text.

import { useId, useImperativeHandle, useLayoutEffect, useRef, type ComponentProps, type ReactNode, type RefObject } from "react";
import css from "./Field.module.css";

export interface TextBoxProps extends Omit<ComponentProps<"textarea">, "className"> {
  label: string;
  /** Shown to readers of the screen only: the place makes it plain to the eye. */
  hideLabel?: boolean;
  hint?: ReactNode;
  problem?: string | null;
  mono?: boolean;
  /** For more than a line or two. */
  tall?: boolean;
}

export function TextBox({ label, hideLabel = false, hint, problem, mono = false, tall = false, id, ref, ...rest }: TextBoxProps) {
  const made = useId();
  const box = useGrowing(rest.value);
  useImperativeHandle(ref, () => box.current as HTMLTextAreaElement);
  const own = id ?? made;
  return (
    <div className={css.field}>
      <label htmlFor={own} className={hideLabel ? "visually-hidden" : css.label}>
        {label}
      </label>
      <textarea
        id={own}
        ref={box}
        rows={1}
        className={css.box}
        data-mono={mono}
        data-tall={tall}
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

const growsByItself = typeof CSS !== "undefined" && CSS.supports?.("field-sizing", "content");

/** The height follows the text, also where the engine (WebKitGTK) cannot do that by style alone. */
function useGrowing(value: unknown): RefObject<HTMLTextAreaElement | null> {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null || growsByItself) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + element.offsetHeight - element.clientHeight}px`;
  }, [value]);
  return box;
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
