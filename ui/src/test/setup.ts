import "@testing-library/jest-dom/vitest";

// jsdom lays nothing out: a list drawn by measure would be empty. Every element is as large as a window.
Object.defineProperty(HTMLElement.prototype, "offsetHeight", { configurable: true, get: () => 800 });
Object.defineProperty(HTMLElement.prototype, "offsetWidth", { configurable: true, get: () => 1280 });
