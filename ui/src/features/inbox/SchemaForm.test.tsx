import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { useState } from "react";
import { expect, test } from "vitest";
import SchemaForm, { startValue } from "./SchemaForm";

const schema = {
  type: "object",
  required: ["account", "days"],
  properties: {
    account: { type: "string", title: "Account", enum: ["ci", "deploy"] },
    days: { type: "integer", title: "Days", minimum: 0, maximum: 30, default: 7 },
    notify: { type: "array", title: "Tell", items: { type: "string", enum: ["ops", "security"] }, uniqueItems: true },
    urgent: { type: "boolean", title: "At once" },
    contact: { type: "object", title: "Contact", properties: { email: { type: "string", format: "email", title: "E-mail" } } },
    hosts: { type: "array", title: "Hosts", items: { type: "string" } },
    kind: { title: "Kind", oneOf: [{ const: 1, title: "One" }, { const: 2, title: "Two" }] },
  },
};

function Stage({ onChange }: { onChange?: (value: unknown) => void }) {
  const [value, setValue] = useState<unknown>(undefined);
  const change = (next: unknown): void => {
    setValue(next);
    onChange?.(next);
  };
  return <SchemaForm schema={schema} value={value} onChange={change} idPrefix="f" disabled={false} strict={false} />;
}

test("a form of every kind of field gives back the value as it was filled in (I-97)", async () => {
  const user = userEvent.setup();
  let last: unknown;
  render(<Stage onChange={(value) => (last = value)} />);
  await user.selectOptions(screen.getByLabelText(/Account/), "deploy");
  await user.clear(screen.getByLabelText(/Days/));
  await user.type(screen.getByLabelText(/Days/), "3");
  await user.click(screen.getByLabelText("security"));
  await user.click(screen.getByLabelText("At once"));
  await user.type(screen.getByLabelText("E-mail"), "a@b.example");
  await user.click(screen.getByRole("button", { name: "Add" }));
  await user.type(screen.getByLabelText(/Hosts-1|Hosts.*1/), "web1");
  await user.selectOptions(screen.getByLabelText("Kind"), "Two");
  expect(last).toEqual({ account: "deploy", days: 3, notify: ["security"], urgent: true, contact: { email: "a@b.example" }, hosts: ["web1"], kind: 2 });
});

test("a fault is said at its field while typing", async () => {
  const user = userEvent.setup();
  render(<Stage />);
  await user.type(screen.getByLabelText("E-mail"), "nobody");
  expect(await screen.findByText(/does not match format "email"/)).toBeVisible();
});

test("a form starts with the schema's defaults", () => {
  expect(startValue(schema)).toMatchObject({ days: 7 });
});
