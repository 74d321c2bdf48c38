import type { ReactNode } from "react";
import css from "./Chip.module.css";

export function Chip({ tone = "plain", children, title }: { tone?: "plain" | "wait" | "danger" | "ok" | "accent"; children: ReactNode; title?: string }) {
  return (
    <span className={css.chip} data-tone={tone} title={title}>
      {children}
    </span>
  );
}
