// A screen that failed to draw says so, whole, and leaves the way back open.

import { useNavigate, useRouteError } from "react-router";
import { Button } from "../components/Button";
import css from "./Frame.module.css";

export function Broken() {
  const thrown = useRouteError();
  const navigate = useNavigate();
  return (
    <div className={css.problem} role="alert">
      <h1>This screen could not be drawn</h1>
      <p>Nothing is lost: the engine goes on without it. This is a fault of Holdpoint; the text below helps to find it.</p>
      <pre>{thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}</pre>
      <Button onClick={() => void navigate("/inbox")}>To the inbox</Button>
    </div>
  );
}
