import "@testing-library/jest-dom/vitest";

// jsdom lays nothing out, and a list drawn by measure would be empty: panes are as tall as a window, rows as a row.
Object.defineProperty(Element.prototype, "clientHeight", { configurable: true, get: () => 800 });
Object.defineProperty(Element.prototype, "clientWidth", { configurable: true, get: () => 1280 });
Object.defineProperty(HTMLElement.prototype, "offsetHeight", { configurable: true, get: () => 58 });
