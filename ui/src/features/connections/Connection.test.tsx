import { act, fireEvent, screen, within } from "@testing-library/react";
import { expect, test } from "vitest";
import { open, settle } from "../../test/render";
import { aBootstrap, aConnection, aSession, anInterrupt, createFake, type FakeTransport } from "../../transport/fake";
import { Refusal } from "../../transport/transport";
import type { ConnectionRow } from "../../wire";

const question = {
  message: "`mcp.files` asks for authorization, and nobody has given it yet. Authorize the connection, then retry.",
  authorize: { connection: "mcp.files", principal: "shared" },
  metadata: { options: [{ label: "Retry", value: { connection: "mcp.files" } }] },
};

function fakeWith(...connections: ConnectionRow[]): FakeTransport {
  const row = anInterrupt({ interrupt_id: "mcp-auth:mcp.files", reason: "input_required", payload: question });
  return createFake({ interrupts: [row], sessions: [aSession({ activity: "waiting_for_you", pausing_interrupts: 1 })], bootstrap: aBootstrap({ connections }) });
}

async function click(button: HTMLElement): Promise<void> {
  act(() => void fireEvent.click(button));
  await settle();
}

test("the card of an authorization question shows the host before the browser opens, and offers Retry (M-23, SL-10)", async () => {
  const fake = fakeWith(aConnection({ needs: "never_authorized" }));
  const opened: string[] = [];
  fake.openExternal = async (url) => void opened.push(url);
  await open(fake, "/inbox/sesn_1/mcp-auth:mcp.files");
  expect(screen.getByText("needs authorization")).toBeTruthy();
  expect(screen.getByRole("button", { name: /Retry/ })).toBeTruthy();
  await click(screen.getByRole("button", { name: "Authorize mcp.files" }));
  expect(fake.calls("authorize_connection")).toEqual([["mcp.files"]]);
  expect(screen.getByText("auth.example.org")).toBeTruthy();
  expect(opened).toEqual([]);
  await click(screen.getByRole("button", { name: "Open in browser" }));
  expect(opened).toEqual(["https://auth.example.org/authorize?for=mcp.files"]);
});

test("how the authorization went arrives with the connection's row", async () => {
  const fake = fakeWith(aConnection({ needs: "never_authorized" }));
  await open(fake, "/inbox/sesn_1/mcp-auth:mcp.files");
  const tell = async (row: Partial<ConnectionRow>): Promise<void> => {
    act(() => fake.push({ type: "config", agents: [], connections: [aConnection(row)], config_error: null }));
    await settle();
  };
  await tell({ waiting: true });
  expect(screen.getByText("waiting for your browser")).toBeTruthy();
  await tell({ problem: "it was refused (access_denied)" });
  expect(screen.getByText("it was refused (access_denied)")).toBeTruthy();
  await tell({ credential: "oauth" });
  expect(screen.getByText("authorized")).toBeTruthy();
});

test("a question about a connection that is not there any more says so", async () => {
  await open(fakeWith(), "/inbox/sesn_1/mcp-auth:mcp.files");
  expect(screen.getByText(/The configuration has no connection/)).toBeTruthy();
});

test("the agents page shows every connection with what can be done about its credential (DT-4)", async () => {
  const fake = fakeWith(
    aConnection({ path: "mcp.local", server: "npx files", auth: null }),
    aConnection({ path: "mcp.kept", auth: "token", credential: "token" }),
    aConnection({ path: "mcp.given", auth: "token", credential: "environment" }),
    aConnection({ path: "mcp.over", auth: "oauth", needs: "reauthorize" }),
  );
  await open(fake, "/agents");
  const of = (path: string) => within(screen.getByRole("listitem", { name: path }));
  expect(of("mcp.local").getByText("local, needs no authorization")).toBeTruthy();
  expect(of("mcp.local").queryByRole("button")).toBeNull();
  expect(of("mcp.given").queryByRole("button")).toBeNull();
  expect(of("mcp.over").getByText("needs a new authorization")).toBeTruthy();
  expect(of("mcp.over").queryByRole("button", { name: "Set a token for mcp.over" })).toBeNull();
  await click(of("mcp.kept").getByRole("button", { name: "Forget the credential of mcp.kept" }));
  expect(fake.calls("forget_connection")).toEqual([["mcp.kept"]]);
});

test("a token is typed in a hidden box, sent once, and kept in no draft (F-2)", async () => {
  const fake = fakeWith(aConnection({ auth: "token", needs: "never_authorized" }));
  await open(fake, "/agents");
  await click(screen.getByRole("button", { name: "Set a token for mcp.files" }));
  const box = screen.getByLabelText("Token for mcp.files");
  expect(box.getAttribute("type")).toBe("password");
  act(() => void fireEvent.change(box, { target: { value: " s3cret " } }));
  fake.refuseNext("set_connection_token", new Refusal({ code: "invalid_request", message: "a token has no blanks", details: null }));
  await click(screen.getByRole("button", { name: "Save" }));
  expect(screen.getByRole("alert").textContent).toBe("a token has no blanks");
  await click(screen.getByRole("button", { name: "Save" }));
  expect(fake.calls("set_connection_token")).toEqual([["mcp.files", "s3cret"], ["mcp.files", "s3cret"]]);
  expect(screen.queryByLabelText("Token for mcp.files")).toBeNull();
  expect(fake.calls("save_draft")).toEqual([]);
});
