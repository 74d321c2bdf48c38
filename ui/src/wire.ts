// What travels between this UI and the app. The types are the app's own, generated from its source; only types pass through
// here, so that no screen can reach the shell except by a transport.

export type * from "./bindings";
