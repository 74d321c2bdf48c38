import { Outlet } from "react-router";
import { useKeyboard } from "../actions/hooks";

export function Frame() {
  useKeyboard();
  return <Outlet />;
}
