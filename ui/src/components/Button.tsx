// Buttons. A key drawn on a button is a real key of it, never decoration.

import type { ComponentProps, ReactNode } from "react";
import css from "./Button.module.css";
import { Kbd } from "./Kbd";

export interface ButtonProps extends Omit<ComponentProps<"button">, "className"> {
  look?: "plain" | "primary" | "danger" | "quiet";
  size?: "m" | "s";
  /** Key as shown on it, `1` or `Ctrl+Enter`. */
  keyHint?: string | undefined;
  icon?: ReactNode;
}

export function Button({ look = "plain", size = "m", keyHint, icon, children, type = "button", ...rest }: ButtonProps) {
  return (
    <button type={type} className={css.button} data-look={look} data-size={size} {...rest}>
      {icon}
      {children}
      {keyHint !== undefined && <Kbd keys={keyHint} />}
    </button>
  );
}

/** A button that shows only an icon; `label` is its name and its tooltip. */
export function IconButton({ label, children, keyHint, ...rest }: Omit<ButtonProps, "look" | "icon"> & { label: string }) {
  const title = keyHint === undefined ? label : `${label} (${keyHint})`;
  return (
    <button type="button" className={css.icon} aria-label={label} title={title} {...rest}>
      {children}
    </button>
  );
}
