// Puts a message that is too long for one argument in its place, before OpenClaw reads its arguments.
// Loaded with `node --import`; undoes its own traces so that the agent's children never see them.
import { readFileSync } from "node:fs";

const file = process.env.PINCHBENCH_MESSAGE_FILE;
if (file && /openclaw/.test(process.argv[1] ?? "")) {
  process.argv = process.argv.map((argument) =>
    argument.startsWith("--message=") ? `--message=${readFileSync(file, "utf8")}` : argument,
  );
  const before = process.env.PINCHBENCH_NODE_OPTIONS;
  if (before) process.env.NODE_OPTIONS = before;
  else delete process.env.NODE_OPTIONS;
  delete process.env.PINCHBENCH_MESSAGE_FILE;
  delete process.env.PINCHBENCH_NODE_OPTIONS;
}
