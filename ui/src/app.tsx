// The application around its router: the desk, the actions, and the theme.

import { useEffect, useState } from "react";
import { RouterProvider } from "react-router";
import { RegistryContext } from "./actions/hooks";
import { createRegistry } from "./actions/registry";
import { interruptPath } from "./paths";
import type { memoryRouter } from "./router";
import { createDesk, type Desk } from "./store/desk";
import { DeskContext } from "./store/hooks";
import type { Transport } from "./transport/transport";
import type { ShellEvent } from "./wire";

export function App({ transport, router, onDesk }: { transport: Transport; router: ReturnType<typeof memoryRouter>; onDesk?: (desk: Desk) => void }) {
  const [desk] = useState(() => createDesk(transport));
  const [registry] = useState(createRegistry);
  useEffect(() => desk.start(), [desk]);
  useEffect(() => {
    onDesk?.(desk);
  }, [desk, onDesk]);
  useEffect(() => transport.onShell?.((event) => hear(event, desk, (path) => void router.navigate(path))), [transport, desk, router]);
  return (
    <DeskContext value={desk}>
      <RegistryContext value={registry}>
        <RouterProvider router={router} />
      </RegistryContext>
    </DeskContext>
  );
}

function hear(event: ShellEvent, desk: Desk, go: (path: string) => void): void {
  switch (event.type) {
    case "open":
      go(event.card === null ? "/inbox" : interruptPath(event.card));
      break;
    case "answered":
      desk.toast(event.refused ? "refused" : "info", `${event.title}: ${event.body}`);
      break;
    case "notifications_unavailable":
      desk.ui.setState({ notificationProblem: event.problem });
      break;
    case "test_clicked":
      desk.toast("info", "The click on the test notification came back.");
      break;
  }
}
