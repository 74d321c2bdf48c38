// The theme on the document: chosen, or the system's as it changes.

import { useEffect } from "react";
import { useDeskState } from "../store/hooks";

export function useTheme(): void {
  const chosen = useDeskState((state) => state.settings.theme);
  useEffect(() => {
    if (chosen !== "system") {
      document.documentElement.dataset.theme = chosen;
      return;
    }
    const dark = window.matchMedia?.("(prefers-color-scheme: dark)");
    const set = (): void => {
      document.documentElement.dataset.theme = dark?.matches ? "dark" : "light";
    };
    set();
    dark?.addEventListener("change", set);
    return () => dark?.removeEventListener("change", set);
  }, [chosen]);
}
