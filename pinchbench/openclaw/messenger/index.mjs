// The chat channel of a trial, and what the runner sees of the gateway: JSON lines over one connection that the gateway
// makes to the runner. There is no port on which an agent's command could pass itself off as a sender, and the way to
// the runner serves the gateway's own process alone.
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { createChannelPluginBase, createChatChannelPlugin } from "openclaw/plugin-sdk/channel-core";
import { dispatchInboundDirectDmWithRuntime } from "openclaw/plugin-sdk/channel-inbound";
import { definePluginEntry } from "openclaw/plugin-sdk/plugin-entry";

const CHANNEL = "messenger";
const MAX_CHARS = 200_000; // of a text that is reported
const TRIES = 5; // OpenClaw's state is locked for a moment while a gateway starts
const TRY_MS = 500;
const RECHECK_MS = 100;
const STEER_MS = 10000; // how long a tool waits for an interrupt; OpenClaw blocks it after 15 s
// The gateway keeps the real monotonic clock that this asks for. In the agent's programs it would make `sleep` fail.
delete process.env.FAKETIME_DONT_FAKE_MONOTONIC;

// OpenClaw can load this module more than once in one process.
const shared = (globalThis[Symbol.for("messenger")] ??= {
  link: null,
  cron: null,
  isReconciled: false,
  isEnding: false,
  sent: 0,
  armed: null,
  calls: 0,
  steered: null,
  proceed: null,
});

function report(kind, fields = {}) {
  shared.link?.write(`${JSON.stringify({ kind, now: Date.now(), ...fields })}\n`);
}

// What OpenClaw says to its owner when it is ended is no message of the agent's.
process.prependListener("SIGTERM", () => (shared.isEnding = true));

const plain = (text) => String(text ?? "").toWellFormed().slice(0, MAX_CHARS);

function send(to, text, media = []) {
  shared.sent += 1;
  if (!shared.isEnding) {
    report("message", { to: plain(to).replace(`${CHANNEL}:`, ""), text: plain(text), media: media.map(plain) });
  }
  return { messageId: `${shared.sent}` };
}

const plugin = createChatChannelPlugin({
  base: {
    ...createChannelPluginBase({
      id: CHANNEL,
      meta: {
        id: CHANNEL,
        label: "Messenger",
        selectionLabel: "Messenger",
        docsPath: "/channels/messenger",
        blurb: "Chat with your contacts.",
      },
      config: {
        listAccountIds: () => ["default"],
        resolveAccount: () => ({ accountId: "default", allowFrom: ["*"], dmPolicy: "open" }),
        inspectAccount: () => ({ enabled: true, configured: true }),
      },
      setup: { applyAccountConfig: ({ cfg }) => cfg },
    }),
    messaging: {
      normalizeTarget: (raw) => raw.trim().replace(/^messenger:/, "").toLowerCase() || undefined,
      inferTargetChatType: () => "direct",
      targetResolver: { looksLikeId: (raw) => /^[\w:-]+$/.test(raw.trim()), hint: "<name of a contact>" },
    },
    gateway: {
      // An account that returns is restarted again and again.
      startAccount: ({ abortSignal }) =>
        new Promise((resolve) => (abortSignal.aborted ? resolve() : abortSignal.addEventListener("abort", resolve))),
    },
  },
  security: {
    dm: {
      channelKey: CHANNEL,
      resolvePolicy: (account) => account.dmPolicy,
      resolveAllowFrom: (account) => account.allowFrom,
      defaultPolicy: "open",
    },
  },
  outbound: {
    base: { sendMedia: async ({ to, text, mediaUrl, filePath }) => send(to, text, [mediaUrl ?? filePath].filter(Boolean)) },
    attachedResults: { channel: CHANNEL, sendText: async ({ to, text }) => send(to, text) },
  },
});

async function receive(api, { id, from, text, isOwner }, progress = {}) {
  let isTaken = false;
  const take = () => {
    isTaken = true;
    progress.taken?.();
  };
  for (let attempt = 1; ; attempt += 1) {
    let failure = null;
    const failed = (error) => (failure = error);
    await dispatchInboundDirectDmWithRuntime({
      cfg: api.runtime.config.current(),
      runtime: api.runtime,
      channel: CHANNEL,
      channelLabel: "Messenger",
      accountId: "default",
      peer: { kind: "direct", id: from },
      senderId: from,
      senderAddress: `${CHANNEL}:${from}`,
      recipientAddress: `${CHANNEL}:${from}`,
      conversationLabel: from,
      rawBody: text,
      messageId: id,
      timestamp: Date.now(),
      commandAuthorized: isOwner,
      channelIngress: "unsupported",
      inboundAccessAuthorized: true,
      // Without this, a message waits for the end of a run instead of steering it.
      turnAdoptionLifecycle: { onAdopted: take, onDeferred: () => (take(), true), onSettled: () => {} },
      deliver: async (payload) => {
        send(from, payload.text, payload.mediaUrls ?? []);
      },
      onRecordError: failed,
      onDispatchError: failed,
    }).catch(failed);
    if (failure === null || isTaken || attempt === TRIES) {
      if (failure !== null && !isTaken) report("failed", { id, text: String(failure.stack ?? failure).slice(0, 2000) });
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, TRY_MS));
  }
  progress.taken?.();
  report("handled", { id });
}

// Lets OpenClaw look at its schedule as soon as it sees that the time has passed; by itself it does so once a minute.
// What a service gets of the schedule can't be paused, what a hook gets can.
function recheck(at) {
  if (Date.now() < at) {
    setTimeout(recheck, RECHECK_MS, at);
  } else {
    shared.cron?.pauseScheduling?.();
    shared.cron?.resumeScheduling?.();
  }
}

// A tool that the model has asked for waits until the runner knows of the interrupt, and the run has its message.
function interrupt(api) {
  const { after, ...message } = shared.armed;
  shared.armed = null;
  shared.steered = new Promise((resolve) => {
    setTimeout(resolve, STEER_MS);
    shared.proceed = () => void receive(api, message, { taken: resolve });
  });
  report("interrupted", { id: message.id });
}

async function obey(api, service, asked) {
  switch (asked.kind) {
    case "message":
      await receive(api, asked);
      break;
    case "interrupt":
      shared.armed = asked;
      break;
    case "proceed":
      shared.proceed?.();
      break;
    case "step":
      shared.calls = 0;
      shared.armed = null;
      report("step");
      break;
    case "due": {
      const jobs = await service.getCron().list({ includeDisabled: false });
      const times = jobs.map((job) => job.state?.nextRunAtMs).filter((at) => at > asked.after);
      report("due", { at: times.length ? Math.min(...times) : null });
      break;
    }
    case "moved":
      recheck(asked.at);
      break;
  }
}

function observe(api) {
  const of = (context, event) => ({ session: context?.sessionKey ?? event?.sessionKey, id: context?.sessionId ?? event?.sessionId });
  api.on("before_agent_run", (event, context) => void report("run_begins", of(context, event)));
  api.on("agent_end", (event, context) => void report("run_ends", of(context, event)));
  api.on("model_call_started", (event, context) => void report("call_begins", of(context, event)));
  api.on("model_call_ended", (event, context) => {
    shared.calls += 1;
    report("call_ends", of(context, event));
    if (shared.armed !== null && shared.calls >= shared.armed.after) interrupt(api);
  });
  api.on("before_tool_call", async ({ toolName }) => {
    if (toolName === "sessions_spawn") report("subagent_begins"); // its own event can come after the parent's turn
    await shared.steered;
  });
  api.on("subagent_spawned", () => void report("subagent_begins"));
  api.on("subagent_ended", () => void report("subagent_ends"));
  api.on("cron_changed", ({ action, jobId, job }) => {
    if (action === "started") report("job_started", { job: jobId, name: plain(job?.name) });
    if (action === "finished" || action === "removed") report("job_finished", { job: jobId });
  });
  api.on("cron_reconciled", (event, context) => {
    shared.cron = context?.getCron?.() ?? null;
    shared.isReconciled = true; // before that, jobs are not scheduled, and the first message finds the state locked
    report("ready");
  });
}

export default definePluginEntry({
  id: "messenger",
  name: "Messenger",
  description: "Chat with your contacts.",
  register(api) {
    if (api.registrationMode === "cli-metadata") return;
    if (api.registrationMode !== "tool-discovery") api.registerChannel({ plugin });
    observe(api);
    if (api.registrationMode !== "full") return;
    api.registerService({
      id: "link",
      start(service) {
        const link = connect(api.pluginConfig.port, "127.0.0.1");
        shared.link = link;
        if (shared.isReconciled) report("ready");
        link.on("error", () => process.exit(1));
        link.on("close", () => process.exit(1));
        createInterface({ input: link }).on("line", (line) => {
          obey(api, service, JSON.parse(line)).catch((error) => report("failed", { text: String(error?.stack ?? error) }));
        });
      },
      stop() {
        shared.link?.removeAllListeners("close");
        shared.link?.destroy();
      },
    });
  },
});
