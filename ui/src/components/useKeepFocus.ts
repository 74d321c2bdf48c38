// Focus that was inside and got lost, because what had it went away or was disabled, comes back to a place inside.

import { useEffect, useRef, type RefObject } from "react";

/** `home` is a selector inside the container; the container itself takes the focus where nothing matches. */
export function useKeepFocus(container: RefObject<HTMLElement | null>, home: string): void {
  const inside = useRef(false);
  useEffect(() => {
    const onFocus = (event: FocusEvent): void => {
      inside.current = event.target instanceof Node && container.current?.contains(event.target) === true;
    };
    // A press of the pointer moves the focus on purpose, also to nowhere.
    const onPress = (): void => {
      inside.current = false;
    };
    document.addEventListener("focusin", onFocus);
    document.addEventListener("pointerdown", onPress);
    return () => {
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("pointerdown", onPress);
    };
  }, [container]);
  // After each draw: that is when elements go. A frame later, because a disabled one gives its focus up only then.
  useEffect(() => {
    if (!inside.current) return;
    const frame = requestAnimationFrame(() => {
      if (!inside.current || (document.activeElement !== null && document.activeElement !== document.body)) return;
      const to = container.current?.querySelector<HTMLElement>(home) ?? container.current;
      to?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  });
}
