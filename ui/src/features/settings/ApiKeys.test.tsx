import { act, fireEvent, screen, within } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { open, settle } from "../../test/render";
import { aKey, createFake } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import { expiryTime } from "./choices";

const secret = `sk_live_${"k".repeat(40)}`;

afterEach(() => vi.unstubAllGlobals());

async function click(name: string): Promise<void> {
  act(() => void fireEvent.click(screen.getByRole("button", { name })));
  await settle();
}

async function make(name: string): Promise<void> {
  await click("New key…");
  act(() => void fireEvent.change(screen.getByLabelText("Name"), { target: { value: name } }));
  await click("Make key");
}

test("each key tells when it was made, how long it lasts, and what ended it (DT-4)", async () => {
  const keys = [
    aKey({ id: "key_1", name: "lasting" }),
    aKey({ id: "key_2", name: "over", expires_at: "2001-01-01T00:00:00.000Z" }),
    aKey({ id: "key_3", name: "taken", tenant: "acme", revoked_at: "2026-11-30T12:30:00.000Z" }),
  ];
  await open(createFake({ keys }), "/settings");
  const of = (name: string) => within(screen.getByRole("listitem", { name }));
  expect(of("lasting").getByText("never expires")).toBeTruthy();
  expect(of("lasting").getByText(/^made /).getAttribute("datetime")).toBe("2026-11-30T12:00:00.000Z");
  expect(of("over").getByText("expired")).toBeTruthy();
  expect(of("over").getByRole("button", { name: "Revoke over" })).toBeTruthy();
  expect(of("taken").getByText("revoked")).toBeTruthy();
  expect(of("taken").getByText("for acme")).toBeTruthy();
  expect(of("taken").queryByRole("button")).toBeNull();
});

test("a new key is shown once with a warning, and closing forgets it: no store, draft or setting has it (DT-4)", async () => {
  const fake = createFake();
  const { desk } = await open(fake, "/settings");
  expect(screen.getByText("There is no API key.")).toBeTruthy();
  await make("  deploys ");
  expect(fake.calls("make_key")).toEqual([["deploys", null]]);
  expect(screen.getByRole("dialog", { name: "The key deploys" })).toBeTruthy();
  expect(screen.getByLabelText("API key")).toHaveValue(secret);
  expect(screen.getByText(/this key is not shown again/)).toBeTruthy();
  await click("Close");
  expect(screen.queryByRole("dialog")).toBeNull();
  expect(screen.queryByDisplayValue(secret)).toBeNull();
  expect(screen.getByRole("listitem", { name: "deploys" })).toBeTruthy();
  const kept = [desk.store.getState(), desk.ui.getState(), fake.sent].map((each) => JSON.stringify(each)).join();
  expect(kept).not.toContain("sk_live_");
  expect([...desk.store.getState().drafts.values()]).toEqual([]);
  expect([localStorage.length, sessionStorage.length]).toEqual([0, 0]);
});

test("Copy puts the key on the clipboard and says so", async () => {
  const copied: string[] = [];
  vi.stubGlobal("navigator", Object.assign(Object.create(navigator), { clipboard: { writeText: async (text: string) => void copied.push(text) } }));
  await open(createFake(), "/settings");
  await make("ci");
  await click("Copy");
  expect(copied).toEqual([secret]);
  expect(screen.getByText("Copied.")).toBeTruthy();
  expect(screen.getByRole("dialog")).toBeTruthy();
});

test("a refusal is shown where the key was asked for", async () => {
  const fake = createFake();
  await open(fake, "/settings");
  fake.refuseNext("make_key", new Refusal({ code: "storage_full", message: "the disk is full", details: null }));
  await make("ci");
  expect(screen.getByRole("alert").textContent).toBe("the disk is full");
  expect(screen.getByLabelText("Name")).toHaveValue("ci");
});

test("a key is revoked after a confirmation, and is kept when that is declined", async () => {
  const fake = createFake({ keys: [aKey()] });
  await open(fake, "/settings");
  await click("Revoke ci");
  await click("Keep it");
  expect(fake.calls("revoke_key")).toEqual([]);
  await click("Revoke ci");
  await click("Revoke key");
  expect(fake.calls("revoke_key")).toEqual([["key_1"]]);
  expect(within(screen.getByRole("listitem", { name: "ci" })).getByText("revoked")).toBeTruthy();
});

test("an expiry is so many days from now, or none", () => {
  const now = Date.parse("2026-11-30T12:00:00.000Z");
  expect(expiryTime("", now)).toBeNull();
  expect(expiryTime("30", now)).toBe("2026-12-30T12:00:00.000Z");
});
