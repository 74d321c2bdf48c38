// Short words about something that just happened. Refusals stay until they are read; the rest goes by itself.

import { CircleAlert, X } from "lucide-react";
import { useEffect } from "react";
import { IconButton } from "../components/Button";
import type { Toast } from "../store/desk";
import { useDesk, useUi } from "../store/hooks";
import css from "./Toasts.module.css";

const infoMs = 6000;

export function Toasts() {
  const toasts = useUi((ui) => ui.toasts);
  return toasts.map((toast) => <ToastView key={toast.id} toast={toast} />);
}

function ToastView({ toast }: { toast: Toast }) {
  const desk = useDesk();
  useEffect(() => {
    if (toast.kind !== "info") return;
    const timer = setTimeout(() => desk.dismissToast(toast.id), infoMs);
    return () => clearTimeout(timer);
  }, [desk, toast]);
  return (
    <div className={css.toast} data-kind={toast.kind} role={toast.kind === "refused" ? "alert" : "status"}>
      {toast.kind === "refused" && <CircleAlert aria-hidden="true" />}
      <span>{toast.text}</span>
      <IconButton label="Dismiss" onClick={() => desk.dismissToast(toast.id)}>
        <X />
      </IconButton>
    </div>
  );
}
