import { expect, test } from "vitest";
import { interruptLink, placeOf, sessionLink } from "./paths";

const open = [{ session_id: "sesn_2", interrupt_id: "int a/b" }];

test.each([
  ["a session", sessionLink("sesn_1", null), "/sessions/sesn_1"],
  ["a message", sessionLink("sesn_1", "msg a&b"), "/sessions/sesn_1?node=msg%20a%26b"],
  ["an open question", interruptLink({ interrupt_id: "int a/b" }), "/inbox/sesn_2/int%20a%2Fb"],
  ["a question that is not open", "holdpoint://interrupt/gone", null],
  ["another scheme", "https://session/sesn_1", null],
  ["broken escapes", "holdpoint://session/%E0%A4%A", null],
])("a link to %s leads to its place", (_, link, place) => {
  expect(placeOf(link, open)).toBe(place);
});
