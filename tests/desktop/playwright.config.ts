// The real window, one journey at a time: each has a screen, a session bus and a home of its own.

import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: ".",
  testMatch: "*.spec.ts",
  workers: 1,
  retries: 0,
  timeout: 900_000,
  reporter: [["list"]],
  outputDir: "../../target/desktop-results",
});
