import "@testing-library/jest-dom/vitest";
import { configure } from "@testing-library/react";

// A machine under load takes its time; what never comes still fails.
configure({ asyncUtilTimeout: 60_000 });

// Nothing is laid out, so nothing is out of sight.
class AllInSight {
  readonly #tell: IntersectionObserverCallback;
  constructor(tell: IntersectionObserverCallback) {
    this.#tell = tell;
  }
  observe(target: Element): void {
    const rect = { height: 400 };
    const entry = { target, intersectionRect: rect, boundingClientRect: rect } as unknown as IntersectionObserverEntry;
    this.#tell([entry], this as unknown as IntersectionObserver);
  }
  disconnect(): void {}
}
Object.defineProperty(globalThis, "IntersectionObserver", { configurable: true, value: AllInSight });

// jsdom lays nothing out, and a list drawn by measure would be empty: panes are as tall as a window, rows as a row.
Object.defineProperty(Element.prototype, "clientHeight", { configurable: true, get: () => 800 });
Object.defineProperty(Element.prototype, "clientWidth", { configurable: true, get: () => 1280 });
Object.defineProperty(HTMLElement.prototype, "offsetHeight", { configurable: true, get: () => 58 });
