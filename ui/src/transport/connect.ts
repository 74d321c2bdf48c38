// Which transport this window has: Tauri's when it runs in the shell, else HTTP to the server that sent the page.

import type { Transport } from "./transport";

export async function connect(): Promise<Transport> {
  if (import.meta.env.DEV && new URLSearchParams(location.search).get("transport") === "fake") {
    return (await import("./demo")).demoTransport();
  }
  if ("__TAURI_INTERNALS__" in window) return (await import("./tauri")).tauriTransport();
  return (await import("./http")).httpTransport(location.origin);
}
