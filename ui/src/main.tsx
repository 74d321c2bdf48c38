import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { browserRouter } from "./router";
import "@fontsource-variable/inter/wght.css";
import "@fontsource-variable/jetbrains-mono/wght.css";
import "./styles/tokens.css";
import "./styles/base.css";
import { connect } from "./transport/connect";

async function main(): Promise<void> {
  const root = document.getElementById("root");
  if (root === null) throw new Error("index.html has no #root");
  const transport = await connect();
  createRoot(root).render(
    <StrictMode>
      <App transport={transport} router={browserRouter()} />
    </StrictMode>,
  );
}

void main();
