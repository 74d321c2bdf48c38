// A modal with a title, its body and a row of buttons. Esc and the backdrop close it.

import { Dialog as Base } from "@base-ui/react/dialog";
import type { ReactNode } from "react";
import css from "./Dialog.module.css";

export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  /** Buttons, the safe one first. */
  actions?: ReactNode;
  size?: "s" | "m" | "l";
  /** What has the focus after it, asked when it closes. Null: what had it before. */
  focusAfter?: (() => HTMLElement | null) | undefined;
}

export function Dialog({ open, onClose, title, children, actions, size = "m", focusAfter }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={css.backdrop} />
        <Base.Popup className={css.popup} data-size={size} finalFocus={focusAfter}>
          <Base.Title className={css.title}>{title}</Base.Title>
          <div className={css.body}>{children}</div>
          {actions !== undefined && <div className={css.actions}>{actions}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}
