// The application around its router: the desk, the actions, and the theme.

import { useEffect, useState } from "react";
import { RouterProvider } from "react-router";
import { RegistryContext } from "./actions/hooks";
import { createRegistry } from "./actions/registry";
import type { memoryRouter } from "./router";
import { createDesk, type Desk } from "./store/desk";
import { DeskContext } from "./store/hooks";
import type { Transport } from "./transport/transport";

export function App({ transport, router, onDesk }: { transport: Transport; router: ReturnType<typeof memoryRouter>; onDesk?: (desk: Desk) => void }) {
  const [desk] = useState(() => createDesk(transport));
  const [registry] = useState(createRegistry);
  useEffect(() => desk.start(), [desk]);
  useEffect(() => onDesk?.(desk), [desk, onDesk]);
  useEffect(() => transport.onOpen?.((path) => void router.navigate(path)), [transport, router]);
  return (
    <DeskContext value={desk}>
      <RegistryContext value={registry}>
        <RouterProvider router={router} />
      </RegistryContext>
    </DeskContext>
  );
}
