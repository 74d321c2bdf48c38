import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  clearScreen: false,
  server: { port: 5173, strictPort: true, host: "127.0.0.1" },
  build: {
    target: "es2022",
    // Inlined assets would be data: URLs, which the content security policy does not allow for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1200,
  },
  test: {
    globals: true,
    css: { modules: { classNameStrategy: "non-scoped" } },
    projects: [
      // Pure functions need no window, and a window a file is what costs the time.
      { extends: true, test: { name: "pure", include: ["src/**/*.test.ts"], environment: "node", isolate: false, testTimeout: 120_000 } },
      { extends: true, test: { name: "screens", include: ["src/**/*.test.tsx"], environment: "jsdom", setupFiles: ["src/test/setup.ts"], testTimeout: 120_000 } },
    ],
  },
});
