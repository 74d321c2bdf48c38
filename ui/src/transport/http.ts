import type { Transport } from "./transport";

export function httpTransport(_origin: string): Transport {
  throw new Error("not written yet");
}
