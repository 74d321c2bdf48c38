// Every message of the window passes here, in a frame of its own, before it may leave for the app. Scripts of the page (or of
// something that got into it) cannot reach this frame. It lets through well-formed calls of Holdpoint's own commands only;
// which commands exist is checked again by the app's capability.
"use strict";

const CHANNEL_DATA = "plugin:__TAURI_CHANNEL__|fetch";

window.__TAURI_ISOLATION_HOOK__ = (message) => {
  const known = typeof message === "object" && message !== null && typeof message.cmd === "string"
    && (message.cmd === CHANNEL_DATA || /^[a-z_]{1,40}$/.test(message.cmd));
  if (!known) throw new Error("The window may call Holdpoint's commands only.");
  return message;
};
