import { describe, expect, test } from "vitest";
import { createDesk } from "../../store/desk";
import { aForecast, createFake } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import { createOperations } from "./operations";
import { createView } from "./view";

function given() {
  const fake = createFake();
  const desk = createDesk(fake);
  const view = createView();
  view.setState({ viewed: "a leaf of another branch" });
  return { fake, desk, view, operations: createOperations({ desk, sessionId: "sesn_1", view, model: () => null }) };
}

describe("branching from a message", () => {
  test("shows the branch that became active, and waits to write on it", async () => {
    const { fake, view, operations } = given();
    await operations.branchFrom("msg_1");
    expect(fake.calls("submit")).toMatchObject([[{ command: { type: "make_active", message_id: "msg_1" } }]]);
    expect(view.getState()).toMatchObject({ viewed: null, writeAfter: "msg_1" });
  });

  test("asks first when that ends something", async () => {
    const { fake, view, operations } = given();
    fake.data.forecast = aForecast({ tool_calls: ["find_order"] });
    await operations.branchFrom("msg_1");
    expect(fake.calls("submit")).toEqual([]);
    expect(view.getState()).toMatchObject({ dialog: { kind: "make_active", messageId: "msg_1" }, writeAfter: "msg_1" });
  });

  test("refused, it leaves the view as it was", async () => {
    const { fake, desk, view, operations } = given();
    fake.refuseNext("submit", new Refusal({ code: "session_busy", message: "Cancel the run first.", details: null }));
    await operations.branchFrom("msg_1");
    expect(view.getState()).toMatchObject({ viewed: "a leaf of another branch", writeAfter: null });
    expect(desk.ui.getState().toasts.map((toast) => toast.text)).toEqual(["Cancel the run first."]);
  });
});
