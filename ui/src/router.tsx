// The places of the window. A place is an address, so that links, Back and a restored window need nothing more.

import { createBrowserRouter, createMemoryRouter, Navigate, type RouteObject } from "react-router";
import { ActivityPage } from "./features/activity/ActivityPage";
import { AgentsPage } from "./features/agents/AgentsPage";
import { InboxPage } from "./features/inbox/InboxPage";
import { SessionPage } from "./features/session/SessionPage";
import { SessionsPage } from "./features/sessions/SessionsPage";
import { SettingsPage } from "./features/settings/SettingsPage";
import { Broken } from "./shell/Broken";
import { Frame } from "./shell/Frame";

const routes: RouteObject[] = [
  {
    element: <Frame />,
    errorElement: <Broken />,
    children: [
      { index: true, element: <Navigate to="/inbox" replace /> },
      { path: "inbox", element: <InboxPage /> },
      { path: "inbox/:session/:interrupt", element: <InboxPage /> },
      { path: "sessions", element: <SessionsPage /> },
      { path: "sessions/:id", element: <SessionPage /> },
      { path: "agents", element: <AgentsPage /> },
      { path: "activity", element: <ActivityPage /> },
      { path: "settings", element: <SettingsPage /> },
      { path: "*", element: <Navigate to="/inbox" replace /> },
    ],
  },
];

export function browserRouter() {
  return createBrowserRouter(routes);
}

/** For tests: starts at `path`. */
export function memoryRouter(path: string) {
  return createMemoryRouter(routes, { initialEntries: [path] });
}
