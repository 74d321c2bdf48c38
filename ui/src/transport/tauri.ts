import type { Transport } from "./transport";

export function tauriTransport(): Transport {
  throw new Error("the bindings are not generated yet");
}
