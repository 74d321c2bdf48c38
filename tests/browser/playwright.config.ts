import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "@playwright/test";

const target = process.env.CARGO_TARGET_DIR ?? fileURLToPath(new URL("../../target", import.meta.url));

/** The system's browser where it has one, else the one that Playwright installs. */
const chromium = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "google-chrome-stable", "google-chrome"].map((name) => join(folder, name)))
  .find((file) => existsSync(file));

export default defineConfig({
  testDir: ".",
  outputDir: join(target, "browser-tests"),
  // Two cores; each test has an engine of its own.
  workers: 2,
  fullyParallel: true,
  retries: 0,
  forbidOnly: true,
  reporter: "list",
  timeout: 240_000,
  // A machine under load takes its time; what never comes still fails.
  expect: { timeout: 60_000 },
  use: {
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    launchOptions: { ...(chromium === undefined ? {} : { executablePath: chromium }), args: ["--no-sandbox"] },
  },
  projects: [
    { name: "light", use: { colorScheme: "light" } },
    { name: "dark", use: { colorScheme: "dark" } },
  ],
});
