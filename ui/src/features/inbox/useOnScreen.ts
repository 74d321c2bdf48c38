// Whether enough of an element to read it is inside the window. Drawn is not seen: lists draw a few rows beyond their edges.

import { useEffect, useState, type RefObject } from "react";

/** A question's first lines; less of it is a sliver at an edge. */
const enoughPx = 96;
const steps = Array.from({ length: 41 }, (_, step) => step / 40);

export function useOnScreen(element: RefObject<Element | null>): boolean {
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new IntersectionObserver((entries) => {
      const entry = entries.at(-1);
      if (entry !== undefined) setSeen(isEnough(entry.intersectionRect.height, entry.boundingClientRect.height));
    }, { threshold: steps });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return seen;
}

export function isEnough(shown: number, whole: number): boolean {
  return shown > 0 && shown >= Math.min(enoughPx, whole);
}
