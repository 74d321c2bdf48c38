// Rows to look at screens with. Development only: the product build leaves this file out.

import { createFake, type FakeTransport } from "./fake";

export function demoTransport(): FakeTransport {
  return createFake();
}
