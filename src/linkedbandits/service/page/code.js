// Code to play this experiment with, to be copied: with its address and identifier, and a place for a token.

import { setText } from "./dom.js";
import { hasToken } from "./session.js";

export class Code {
  #parts;
  #id;
  #whole = null;

  constructor(parts, id) {
    this.#parts = parts;
    this.#id = id;
    parts["code-choice"].addEventListener("change", () => this.#show());
    parts["code-choice"].addEventListener("submit", (event) => event.preventDefault());
    parts["copy-code"].addEventListener("click", () => this.#copy());
  }

  render({ learning }) {
    if (this.#whole === (learning !== null)) return;
    this.#whole = learning !== null;
    this.#show();
  }

  #show() {
    const kind = this.#parts["code-choice"].elements.code.value;
    setText(this.#parts.code, codeFor(kind, serviceAddress(), this.#id, this.#whole, hasToken()));
    setText(this.#parts["copy-message"], "");
  }

  async #copy() {
    const { code } = this.#parts;
    try {
      await navigator.clipboard.writeText(code.textContent);
      setText(this.#parts["copy-message"], "Copied.");
    } catch {
      // Pages that come without encryption from another machine may not write to the clipboard.
      getSelection().selectAllChildren(code);
      setText(this.#parts["copy-message"], "Selected: copy it with Ctrl+C.");
    }
  }
}

/** Where the service is: this page, without what is behind its last slash. */
const serviceAddress = () => new URL(".", location.href).href.replace(/\/$/, "");

export function codeFor(kind, url, id, wholeChains, token) {
  return { python, async: asyncPython, curl }[kind](url, id, wholeChains, token);
}

const arms = (wholeChains) => (wholeChains ? "play.arms + play.rest" : "play.arms");
const withToken = (token) => (token ? ', token="YOUR-TOKEN"' : "");

const python = (url, id, whole, token) => `from linkedbandits.errors import ExperimentFinished
from linkedbandits.service.client import Client


def works(arm):
    """Try this option on the request at hand; say whether it worked."""
    raise NotImplementedError


with Client("${url}"${withToken(token)}) as client:
    exp = client.experiment("${id}")
    try:
        while not exp.done:
            play = exp.ask()
            hit = next((arm for arm in ${arms(whole)} if works(arm)), None)
            exp.tell(play.id, hit=hit)
    except ExperimentFinished:  # another worker brought the last answer
        pass
    print(exp.recommend())
`;

const asyncPython = (url, id, whole, token) => `import asyncio

from linkedbandits.errors import ExperimentFinished
from linkedbandits.service.async_client import AsyncClient


async def works(arm):
    """Try this option on the request at hand; say whether it worked."""
    raise NotImplementedError


async def play_one(exp):
    play = await exp.ask()
    hit = None
    for arm in ${arms(whole)}:
        if await works(arm):
            hit = arm
            break
    await exp.tell(play.id, hit=hit)


async def main():
    async with AsyncClient("${url}"${withToken(token)}) as client:
        exp = client.experiment("${id}")
        try:
            while not await exp.done():
                await play_one(exp)
        except ExperimentFinished:  # another worker brought the last answer
            pass
        print(await exp.recommend())


asyncio.run(main())
`;

function curl(url, id, whole, token) {
  const header = token ? " -H 'Authorization: Bearer YOUR-TOKEN'" : "";
  const json = " -H 'Content-Type: application/json'";
  const at = `${url}/v1/experiments/${id}`;
  return `# What to try, from left to right until one works${whole ? "; then go on with the rest" : ""}
curl -s ${at}/ask${header}${json} -d '{"count": 1}'

# Which one worked; null if none did. PLAY is the id that ask gave.
curl -s ${at}/tell${header}${json} -d '{"answers": [{"play": PLAY, "hit": "NAME"}]}'

# The verdict, or what leads
curl -s ${at}/verdict${header}
`;
}
