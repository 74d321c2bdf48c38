// API keys in the settings, by the keyboard alone.

import { expect, test } from "./test";

test("a key is made, shown once, and revoked without a pointer (DT-4)", async ({ desk, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const { keyboard } = desk.page;
  await desk.open("/settings");
  const settings = desk.page.getByRole("region", { name: "API keys" });
  const newKey = settings.getByRole("button", { name: "New key…" });
  await expect(settings.getByText("There is no API key.")).toBeVisible();
  await newKey.focus();
  await keyboard.press("Enter");
  await expect(desk.page.getByRole("textbox", { name: "Name" })).toBeFocused();
  await keyboard.type("deploys");
  await keyboard.press("Tab");
  await expect(desk.page.getByRole("combobox", { name: "Expires" })).toBeFocused();
  await keyboard.type("In 30");
  await desk.screen("key-new");
  await desk.page.getByRole("textbox", { name: "Name" }).focus();
  await keyboard.press("Enter");

  const made = desk.page.getByRole("dialog", { name: "The key deploys" });
  const secret = await made.getByRole("textbox", { name: "API key" }).inputValue();
  expect(secret).toMatch(/^sk_live_[0-9A-Za-z]{40}$/);
  await expect(made.getByText(/this key is not shown again/)).toBeVisible();
  await expect(made.getByRole("button", { name: "Copy" })).toBeFocused();
  await keyboard.press("Enter");
  await expect(made.getByText("Copied.")).toBeVisible();
  expect(await desk.page.evaluate(() => navigator.clipboard.readText())).toBe(secret);
  await desk.screen("key-made");
  await keyboard.press("Escape");
  await expect(made).toBeHidden();
  await expect(newKey).toBeFocused();

  const row = settings.getByRole("listitem", { name: "deploys" });
  await expect(row.getByText(/^expires in (29|30) d$/)).toBeVisible();
  expect(await desk.page.content()).not.toContain(secret);
  await desk.open("/settings");
  await expect(row).toBeVisible();
  expect(await desk.page.content()).not.toContain(secret);
  await desk.screen("keys-in-settings");

  await row.getByRole("button", { name: "Revoke deploys" }).focus();
  await keyboard.press("Enter");
  const asked = desk.page.getByRole("dialog", { name: "Revoke deploys?" });
  await expect(asked.getByRole("button", { name: "Keep it" })).toBeFocused();
  await desk.screen("key-revoke");
  await keyboard.press("Tab");
  await keyboard.press("Enter");
  await expect(row.getByText("revoked", { exact: true })).toBeVisible();
  await expect(row.getByRole("button")).toHaveCount(0);
  await expect(newKey).toBeFocused();
});
